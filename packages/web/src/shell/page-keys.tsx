import { useState } from 'react';
import { Boundary } from '../ui/boundary.js';
import { part } from '../ui/part.js';
import { useKeys } from './use-keys.js';

const DeveloperDrawer = part(async () => ({
  default: (await import('../developer/developer-drawer.js')).DeveloperDrawer,
}));
const KeysDialog = part(async () => ({ default: (await import('./keys-dialog.js')).KeysDialog }));

/** Keys that work on each screen. */
export function PageKeys() {
  const [open, setOpen] = useState<'keys' | 'developer'>();
  useKeys({
    'Ctrl+.': () => setOpen(open === 'developer' ? undefined : 'developer'),
    '?': () => setOpen('keys'),
  });
  return (
    <Boundary of={open}>
      {open === 'keys' && <KeysDialog onClose={() => setOpen(undefined)} />}
      {open === 'developer' && <DeveloperDrawer onClose={() => setOpen(undefined)} />}
    </Boundary>
  );
}
