import { Dialog as Base } from '@base-ui/react/dialog';
import type { ReactNode } from 'react';
import styles from './ui.module.css';

/** Is open while it is rendered. */
export function Dialog(props: { title: string; description?: ReactNode; children?: ReactNode; onClose: () => void }) {
  return (
    <Base.Root open onOpenChange={(open) => open || props.onClose()}>
      <Base.Portal>
        <Base.Backdrop className={styles['backdrop']} />
        <Base.Popup className={styles['dialog']}>
          <Base.Title>{props.title}</Base.Title>
          {props.description !== undefined && <Base.Description>{props.description}</Base.Description>}
          {props.children}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

/** The buttons at the end of a dialog. */
export const DialogActions = ({ children }: { children: ReactNode }) => (
  <div className={styles['actions']}>{children}</div>
);
