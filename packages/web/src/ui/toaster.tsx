import { Toast } from '@base-ui/react/toast';
import { useEffect } from 'react';
import { Button } from './button.js';
import { onNotice } from './notify.js';
import styles from './overlay.module.css';
import { ui } from './ui.js';

/** Shows the notices from `notify`. */
export default function Toaster() {
  return (
    <Toast.Provider>
      <Toasts />
    </Toast.Provider>
  );
}

function Toasts() {
  const { toasts, add } = Toast.useToastManager();
  useEffect(() => onNotice(({ kind, ...notice }) => void add({ ...notice, type: kind ?? 'info' })), [add]);
  return (
    <Toast.Portal>
      <Toast.Viewport className={styles['toasts']} aria-label="Notices">
        {toasts.map((toast) => (
          <Toast.Root key={toast.id} toast={toast} className={ui('card', styles['toast'])}>
            <Toast.Title />
            <Toast.Close render={<Button look="quiet" size="small" aria-label="Dismiss" />}>×</Toast.Close>
            <Toast.Description />
          </Toast.Root>
        ))}
      </Toast.Viewport>
    </Toast.Portal>
  );
}
