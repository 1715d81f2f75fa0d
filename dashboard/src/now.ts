// Time that passes: what is said of it is drawn anew.

import { useEffect, useState } from "preact/hooks";

/** Draws anew every so many seconds, while the page is looked at. */
export function useNow(seconds = 1): void {
  const [, setTicks] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => document.hidden || setTicks((before) => before + 1), 1000 * seconds);
    return () => clearInterval(timer);
  }, [seconds]);
}
