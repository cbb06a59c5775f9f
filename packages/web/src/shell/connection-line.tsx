import { useClient } from '../session/use-client.js';
import { useConnectionText } from './connection-text.js';
import styles from './layout.module.css';

export function ConnectionLine() {
  const { state, text } = useConnectionText(useClient());
  return (
    <span className={styles['connection']} data-state={state} role="status">
      <span className={styles['dot']} aria-hidden />
      {text}
    </span>
  );
}
