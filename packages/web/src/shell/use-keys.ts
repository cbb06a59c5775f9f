import { useEffect, useRef } from 'react';

/**
 * Keys that work wherever the focus is, such as `a`, or `Ctrl+k`, which is also ⌘K. Keys without Ctrl do nothing
 * while the user writes.
 */
export function useKeys(keys: Readonly<Record<string, () => void>>): void {
  const latest = useRef(keys);
  useEffect(() => void (latest.current = keys));
  useEffect(() => {
    function onKey(event: KeyboardEvent): void {
      // On some keyboards, brackets need AltGr, which Windows reports as Ctrl and Alt.
      const isAltGr = event.getModifierState('AltGraph');
      if (event.isComposing || (event.altKey && !isAltGr)) return;
      const isCommand = (event.ctrlKey || event.metaKey) && !isAltGr;
      const run = latest.current[`${isCommand ? 'Ctrl+' : ''}${event.key.toLowerCase()}`];
      if (run === undefined || (!isCommand && isField(event.target))) return;
      event.preventDefault();
      run();
    }
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
}

const isField = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.matches('input:not([type=radio], [type=checkbox]), textarea, select');
