// What src/qr.ts makes of texts: a JSON list of [level, text] on stdin, a list of codes on stdout, a row a text of 0 and 1.
import { readFileSync } from "node:fs";
import ts from "typescript";

const source = readFileSync(new URL("../src/qr.ts", import.meta.url), "utf8");
const options = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 };
const made = ts.transpileModule(source, { compilerOptions: options }).outputText;
const { qr } = await import(`data:text/javascript;base64,${Buffer.from(made).toString("base64")}`);
const asked = JSON.parse(readFileSync(0, "utf8"));
const codes = asked.map(([level, text]) => qr(text, level).map((row) => row.map(Number).join("")));
process.stdout.write(JSON.stringify(codes));
