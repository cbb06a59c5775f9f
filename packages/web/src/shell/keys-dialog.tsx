import { Dialog } from '../ui/dialog.js';
import { Pairs } from '../ui/item.js';
import { KEYS } from './keys.js';

export function KeysDialog({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <Pairs pairs={KEYS.map(([keys, effect]) => [<kbd key={keys}>{keys}</kbd>, effect])} />
    </Dialog>
  );
}
