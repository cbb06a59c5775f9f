import type { OutboxItem, ShownMessage } from '@uswarm/client';
import { useClient } from '../session/use-client.js';
import { Button } from '../ui/button.js';
import { notifyError } from '../ui/notify.js';
import { Attachments } from './attachments.js';
import styles from './message.module.css';
import { Plain } from './text.js';

const STATES: Readonly<Record<string, string>> = { sent: 'Sent', delivered: 'Delivered', read: 'Read' };
const REFUSALS: Readonly<Record<string, string>> = {
  turn_queue_full: 'Too many questions wait for an answer.',
  payload_too_large: 'It is too large.',
  upload_too_large: 'A file is too large.',
  token_limit_reached: 'Your limit is reached.',
  conversation_not_found: 'The conversation was deleted.',
};

export function OwnMessage({ shown }: { shown: ShownMessage }) {
  const { local, message, text, status } = shown;
  const edited = message?.edited_at ? ' · edited' : '';
  return (
    <article className={styles['own']}>
      <h2 className="hidden">You</h2>
      <div className={styles['bubble']} data-state={status}>
        {text !== '' && <Plain text={text} />}
        <Attachments attachments={message?.attachments ?? []} waiting={local?.files.length ?? 0} />
      </div>
      {local ? <Unsent item={local} /> : <p className={styles['state']}>{(STATES[status] ?? status) + edited}</p>}
    </article>
  );
}

/** A message that the service does not have yet. */
function Unsent({ item }: { item: OutboxItem }) {
  const { outbox } = useClient();
  const { local_id: id, state, code, attempted, progress, files } = item;
  const part = files.length > 0 && progress < 1 ? ` ${Math.round(progress * 100)} %` : '';
  if (state === 'sending') return <p className={styles['state']}>Sending…{part}</p>;
  if (state === 'queued')
    return (
      <p className={styles['state']}>
        {code === null || code === 'network_error' ? 'Waits for the network' : `Waits (${code})`}
        {!attempted && <Action label="Cancel" onClick={() => outbox.cancel(id)} />}
      </p>
    );
  return (
    <p className={styles['state']} data-tone="bad" role="alert">
      Not sent. {REFUSALS[code ?? ''] ?? code}
      <Action label="Retry" onClick={() => outbox.retry(id)} />
      <Action label="Delete" onClick={() => outbox.cancel(id)} />
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
