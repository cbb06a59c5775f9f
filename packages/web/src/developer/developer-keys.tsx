import { lazy, Suspense, useEffect, useState } from 'react';

const DeveloperDrawer = lazy(async () => ({ default: (await import('./developer-drawer.js')).DeveloperDrawer }));

/** Opens the drawer with Ctrl+. and loads it only then. */
export function DeveloperKeys() {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    function onKey(event: KeyboardEvent): void {
      if (event.key !== '.' || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      setOpen((open) => !open);
    }
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  return <Suspense>{isOpen && <DeveloperDrawer onClose={() => setOpen(false)} />}</Suspense>;
}
