import { Tooltip as Base } from '@base-ui/react/tooltip';
import type { ReactElement, ReactNode } from 'react';
import styles from './ui.module.css';

/** Explains a control. What a user must know is not in a tooltip, because touch has none. */
export function Tooltip({ text, children }: { text: ReactNode; children: ReactElement }) {
  return (
    <Base.Root>
      <Base.Trigger render={children} />
      <Base.Portal>
        <Base.Positioner sideOffset={6}>
          <Base.Popup className={styles['tip']}>{text}</Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
