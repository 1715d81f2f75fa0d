BEGIN TRANSACTION;
CREATE TABLE reading (
        person TEXT NOT NULL, source TEXT NOT NULL, instant INTEGER NOT NULL,
        latitude REAL, longitude REAL, accuracy REAL, label TEXT,
        PRIMARY KEY (person, source, instant)
    ) WITHOUT ROWID;
INSERT INTO "reading" VALUES('jane','phone',1772413200000000,48.1,11.5,20.0,NULL);
INSERT INTO "reading" VALUES('jane','phone',1772420400000000,48.1,11.5,20.0,NULL);
CREATE TABLE stamp (
        person TEXT PRIMARY KEY, stream INTEGER NOT NULL, position INTEGER NOT NULL,
        context TEXT NOT NULL, before INTEGER, bits BLOB, after INTEGER
    ) WITHOUT ROWID;
INSERT INTO "stamp" VALUES('jane',1,3,'home',5,NULL,5);
CREATE TABLE truth (
        person TEXT NOT NULL, date TEXT NOT NULL, slot INTEGER NOT NULL, context TEXT NOT NULL,
        PRIMARY KEY (person, date, slot)
    ) WITHOUT ROWID;
INSERT INTO "truth" VALUES('jane','2026-03-02',0,'home');
INSERT INTO "truth" VALUES('jane','2026-03-02',1,'home');
INSERT INTO "truth" VALUES('jane','2026-03-02',2,'home');
INSERT INTO "truth" VALUES('jane','2026-03-02',3,'home');
CREATE INDEX reading_by_time ON reading (person, instant);
COMMIT;
PRAGMA user_version = 1;
