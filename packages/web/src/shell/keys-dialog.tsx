import { Fragment } from 'react';
import { Dialog } from '../ui/dialog.js';
import { KEYS } from './keys.js';
import { ui } from '../ui/ui.js';

export function KeysDialog({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl className={ui('pairs')}>
        {KEYS.map(([keys, effect]) => (
          <Fragment key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{effect}</dd>
          </Fragment>
        ))}
      </dl>
    </Dialog>
  );
}
