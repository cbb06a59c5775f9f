import type { ShownMessage } from '@uswarm/client';
import { useState } from 'react';
import { Link } from 'wouter';
import { panel } from '../session/pages.js';
import { Button } from '../ui/button.js';
import { notifyError } from '../ui/notify.js';
import { ui } from '../ui/ui.js';
import { Attachments } from './attachments.js';
import styles from './message.module.css';
import { Text } from './text.js';
import { useRegenerate } from './use-regenerate.js';

export function Reply({ shown }: { shown: ShownMessage }) {
  const { text, streaming, message, status } = shown;
  const isQuiet = status === 'silent' || status === 'delegated';
  const hasText = text !== '' && text !== message?.error?.message;
  return (
    <>
      {isQuiet ? <p className={ui('lead')}>{text}</p> : hasText && <Text text={text} />}
      <Attachments shown={shown} />
      {streaming && (
        <span className={ui('more')} aria-hidden>
          ▍
        </span>
      )}
      {message?.error && <Failure shown={shown} />}
      {!streaming && !message?.error && !isQuiet && <ReplyActions shown={shown} />}
    </>
  );
}

/** Any partial text is shown above it. */
function Failure({ shown }: { shown: ShownMessage }) {
  const error = shown.message?.error;
  if (!error) return null;
  const isMild = shown.status === 'incomplete' || error.code === 'stopped';
  return (
    <div className={ui('notice')} data-tone={isMild ? 'plain' : 'bad'} role={isMild ? undefined : 'alert'}>
      <span className={ui('grow')}>{error.code === 'stopped' ? 'Stopped.' : error.message}</span>
      {error.retryable && <Regenerate shown={shown} label="Try again" />}
    </div>
  );
}

function ReplyActions({ shown }: { shown: ShownMessage }) {
  const [isCopied, setCopied] = useState(false);
  const turn = shown.message?.turn_id;
  async function copy(): Promise<void> {
    await navigator.clipboard.writeText(shown.text);
    setCopied(true);
  }
  return (
    <div className={ui('row', styles['actions'])}>
      <Button look="quiet" size="small" onClick={() => void copy().catch(notifyError('The text could not be copied'))}>
        {isCopied ? 'Copied' : 'Copy'}
      </Button>
      {turn !== undefined && (
        <Link className={ui('more')} href={panel.timeline(turn)}>
          How it was made
        </Link>
      )}
    </div>
  );
}

function Regenerate({ shown, label }: { shown: ShownMessage; label: string }) {
  const { isBusy, repeat } = useRegenerate(shown.id ?? '');
  return (
    <Button size="small" disabled={isBusy} onClick={() => void repeat()}>
      {label}
    </Button>
  );
}
