import { useClient } from '../session/use-client.js';
import { ui } from '../ui/ui.js';
import { useConnectionText } from './connection-text.js';
import styles from './layout.module.css';

export function ConnectionLine() {
  const { state, text } = useConnectionText(useClient());
  return (
    <span className={ui('facts', styles['connection'])} data-tone={state === 'live' ? 'ok' : 'attention'} role="status">
      <span className={styles['dot']} aria-hidden>
        ●
      </span>
      <span>{text}</span>
    </span>
  );
}
