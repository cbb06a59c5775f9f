import type { OutboxItem, ShownMessage } from '@uswarm/client';
import { ownUrl } from '../session/own-url.js';
import { fileSize } from '../ui/file-size.js';
import { Icon } from '../ui/icon.js';
import { ui } from '../ui/ui.js';
import { Plain } from './text.js';
import { useFreshLink } from './use-fresh-link.js';

/** Unsent messages show only file names. */
export function Attachments({ shown: { message, local } }: { shown: ShownMessage }) {
  const save = useFreshLink(message?.id ?? '');
  const sent = message?.attachments ?? [];
  const waiting = local?.files ?? [];
  if (sent.length + waiting.length === 0) return null;
  return (
    <ul className={ui('row')} aria-label="Files">
      {sent.map((file) => (
        <li key={file.id}>
          <a href={ownUrl(file.url)} className={ui('notice')} onClick={(event) => save(event, file)}>
            <Icon name="clip" size={15} />
            {file.name} <small>{fileSize(file.size)}</small>
          </a>
          {file.transcript && (
            <details open={file.transcript.length <= 600}>
              <summary>Transcript of {file.name}</summary>
              <Plain text={file.transcript} />
            </details>
          )}
        </li>
      ))}
      {waiting.map((file, index) => (
        <li key={index} className={ui('notice')}>
          <Icon name="clip" size={15} />
          {nameOf(file)}
        </li>
      ))}
    </ul>
  );
}

/** An uploaded file has only its id. */
const nameOf = (file: OutboxItem['files'][number]): string => ('name' in file && file.name) || 'A file';
