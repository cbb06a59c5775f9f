import { lazy, Suspense, useState } from 'react';
import { useKeys } from './use-keys.js';

const DeveloperDrawer = lazy(async () => ({
  default: (await import('../developer/developer-drawer.js')).DeveloperDrawer,
}));
const KeysDialog = lazy(async () => ({ default: (await import('./keys-dialog.js')).KeysDialog }));

/** Keys that work on each screen. */
export function PageKeys() {
  const [open, setOpen] = useState<'keys' | 'developer'>();
  useKeys({
    'Ctrl+.': () => setOpen(open === 'developer' ? undefined : 'developer'),
    '?': () => setOpen('keys'),
  });
  return (
    <Suspense>
      {open === 'keys' && <KeysDialog onClose={() => setOpen(undefined)} />}
      {open === 'developer' && <DeveloperDrawer onClose={() => setOpen(undefined)} />}
    </Suspense>
  );
}
