import { qr } from "./qr";

const EDGE = 4; // white modules around a code, without which phones do not find it

/** A text as a code that phones read: dark on white in any theme. */
export function Qr({ text, label }: { text: string; label: string }) {
  const rows = qr(text, "L");
  const size = rows.length + 2 * EDGE;
  const dark = rows.flatMap((row, y) => row.flatMap((one, x) => (one ? `M${x + EDGE} ${y + EDGE}h1v1h-1z` : [])));
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label} shape-rendering="crispEdges">
      <rect width={size} height={size} fill="#fff" />
      <path d={dark.join("")} />
    </svg>
  );
}
