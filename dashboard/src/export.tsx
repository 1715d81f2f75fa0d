import { useState } from "preact/hooks";
import { api, Refused, type Day, type Days } from "./api";
import { colour, label, runs } from "./labels";
import { clock, dayName, monthName, moved, movedMonths } from "./locale";
import { texts } from "./texts";

const WIDE = 1200;
const HIGH = 60; // of a row of the picture
const LEFT = 90; // for the names of the rows
const FONT = "16px system-ui, sans-serif";

type Format = "csv" | "json" | "png";

const field = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** A line a slot that was decided: when, where one was, what apps got. */
function table(days: Day[]): string {
  const lines = days.flatMap((day) => day.slots.filter((one) => one.told !== null)
    .map((one) => [one.start, one.end, one.true ?? "", label(one.told) ?? "", one.told?.kind ?? ""]));
  return [["start", "end", "true", "told", "kind"], ...lines].map((line) => line.map(field).join(",")).join("\r\n") + "\r\n";
}

/** A colour of the page as a canvas takes it: no variables. */
function plain(value: string): string {
  const probe = document.body.appendChild(document.createElement("span"));
  probe.style.color = value;
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

/** The strip of a day: true above told, with its hours. */
async function picture(day: Day): Promise<Blob> {
  const words = texts.today;
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [WIDE, 3 * HIGH + 60];
  const pen = canvas.getContext("2d");
  if (!pen) throw new Error(texts.failed);
  const [paper, ink, silence] = ["Canvas", "CanvasText", "var(--silence)"].map(plain);
  const wide = (WIDE - LEFT - 20) / day.slots.length;
  pen.fillStyle = paper ?? "";
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.font = FONT;
  pen.textBaseline = "middle";
  const write = (text: string, x: number, y: number) => {
    pen.fillStyle = ink ?? "";
    pen.fillText(text, x, y);
  };
  write(`${dayName(day.date)} (${day.zone})`, LEFT, HIGH / 2);
  const rows: [string, (string | null)[]][] = [
    [words.true, day.slots.map((one) => one.true)],
    [words.told, day.slots.map((one) => (one.told === null ? null : (label(one.told) ?? "")))],
  ];
  rows.forEach(([name, labels], row) => {
    const top = HIGH + row * (HIGH + 8);
    write(name, 20, top + HIGH / 2);
    for (const run of runs(labels)) {
      pen.fillStyle = run.label ? plain(colour(run.label)) : (silence ?? "");
      pen.fillRect(LEFT + run.from * wide, top, run.length * wide - 1, HIGH);
      pen.fillStyle = "#111";
      const said = run.label || words.silent;
      if (pen.measureText(said).width < run.length * wide - 8) pen.fillText(said, LEFT + run.from * wide + 4, top + HIGH / 2);
    }
  });
  const time = clock(day.zone);
  for (let part = 0; part < 8; part += 1) {
    const slot = day.slots[Math.floor((part * day.slots.length) / 8)];
    if (slot) write(time(slot.start), LEFT + slot.slot * wide, 3 * HIGH + 30);
  }
  return new Promise((done, failed) =>
    canvas.toBlob((found) => (found ? done(found) : failed(new Error(texts.failed))), "image/png"));
}

function save(name: string, blob: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** The days of the month of a date that there are. */
async function monthOf(person: string, days: Days, date: string): Promise<Day[]> {
  const first = `${date.slice(0, 7)}-01`;
  const end = movedMonths(first, 1);
  const found: Day[] = [];
  for (let one = first; one < end; one = moved(one, 1))
    if (one >= (days.first ?? end) && one <= (days.last ?? "")) found.push(await api.day(person, one));
  return found;
}

async function file(format: Format, days: Day[]): Promise<Blob> {
  const [only] = days;
  if (format === "png" && only) return picture(only);
  if (format === "csv") return new Blob([table(days)], { type: "text/csv" });
  return new Blob([JSON.stringify(days, null, 2)], { type: "application/json" });
}

/** Files of the day that is looked at, or of its month. The browser makes them; nothing is sent. */
export function Export({ person, days, day }: { person: string; days: Days; day: Day }) {
  const words = texts.export;
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const made = (month: boolean, format: Format) => async () => {
    setProblem("");
    setBusy(true);
    try {
      const chosen = month ? await monthOf(person, days, day.date) : [day];
      save(`${person} ${month ? day.date.slice(0, 7) : day.date}.${format}`, await file(format, chosen));
    } catch (error) {
      setProblem(error instanceof Refused ? error.message : texts.failed);
    } finally {
      setBusy(false);
    }
  };
  const button = (month: boolean, format: Format) => (
    <button key={format} type="button" class="quiet" disabled={busy} onClick={made(month, format)}
      aria-label={words.as(month ? monthName(day.date) : dayName(day.date), words.formats[format])}>
      {words.formats[format]}
    </button>
  );
  return (
    <details class="export">
      <summary>{words.heading}</summary>
      <p class="quiet">{words.words}</p>
      <p class="acts">{words.day} {(["csv", "json", "png"] as const).map((format) => button(false, format))}</p>
      <p class="acts">{words.month} {(["csv", "json"] as const).map((format) => button(true, format))}</p>
      {problem && <p class="problem" role="alert">{problem}</p>}
    </details>
  );
}
