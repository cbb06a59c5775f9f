import type { OutboxItem, ShownMessage } from '@uswarm/client';
import { useClient } from '../session/use-client.js';
import { Button } from '../ui/button.js';
import { notifyError } from '../ui/notify.js';
import { ui } from '../ui/ui.js';
import { Attachments } from './attachments.js';
import styles from './message.module.css';
import { REASONS, STATES } from './send-states.js';
import { Plain } from './text.js';

export function OwnMessage({ shown, isTarget }: { shown: ShownMessage; isTarget: boolean }) {
  const { local, message, text, status } = shown;
  const more =
    (message?.edited_at ? ' · edited' : '') + (message?.answered_with ? ' · answered with another message' : '');
  return (
    <article className={ui('stack tight', styles['own'])} data-target={isTarget || undefined}>
      <h2 className="hidden">You</h2>
      <div className={styles['bubble']} data-state={status}>
        {text !== '' && <Plain text={text} />}
        <Attachments shown={shown} />
      </div>
      {local ? <Unsent item={local} /> : <p className={ui('facts')}>{(STATES[status] ?? status) + more}</p>}
    </article>
  );
}

/** Not stored by the service yet. */
function Unsent({ item }: { item: OutboxItem }) {
  const { outbox } = useClient();
  const { local_id: id, state, code, attempted, progress, files, retry_at: at } = item;
  const reason = REASONS[code ?? 'network_error'] ?? code;
  if (state === 'refused')
    return (
      <p className={ui('facts')} data-tone="bad" role="alert">
        Not sent. {reason}
        <Action label="Retry" onClick={() => outbox.retry(id)} />
        <Action label="Delete" onClick={() => outbox.cancel(id)} />
      </p>
    );
  const again = at && code && code !== 'network_error' ? `, tries again at ${new Date(at).toLocaleTimeString()}` : '';
  const isUploading = state === 'sending' && !attempted && files.length > 0;
  return (
    <p className={ui('facts')}>
      {isUploading && `Uploading… ${Math.round(progress * 100)} %`}
      {state === 'sending' && !isUploading && 'Sending…'}
      {state === 'queued' && reason + again}
      {!attempted && <Action label="Cancel" onClick={() => outbox.cancel(id)} />}
    </p>
  );
}

function Action({ label, onClick }: { label: string; onClick: () => Promise<unknown> }) {
  return (
    <Button look="quiet" size="small" onClick={() => void onClick().catch(notifyError(`${label} failed`))}>
      {label}
    </Button>
  );
}
