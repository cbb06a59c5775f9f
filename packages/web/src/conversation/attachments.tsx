import type { Attachment } from '@uswarm/client';
import { ownUrl } from '../session/own-url.js';
import { Icon } from '../ui/icon.js';
import styles from './message.module.css';

const size = (bytes: number): string =>
  new Intl.NumberFormat(undefined, {
    style: 'unit',
    unit: bytes < 1e6 ? 'kilobyte' : 'megabyte',
    maximumFractionDigits: 1,
  }).format(bytes / (bytes < 1e6 ? 1e3 : 1e6));

/** @param props.waiting the number of files that are not uploaded yet */
export function Attachments({ attachments, waiting }: { attachments: Attachment[]; waiting: number }) {
  if (attachments.length + waiting === 0) return null;
  return (
    <ul className={styles['files']}>
      {attachments.map((file) => (
        <li key={file.id}>
          <a href={ownUrl(file.url)} target="_blank" rel="noreferrer" className={styles['file']}>
            <Icon name="clip" size={15} />
            {file.name} <small>{size(file.size)}</small>
          </a>
        </li>
      ))}
      {attachments.length === 0 && (
        <li className={styles['file']}>
          <Icon name="clip" size={15} />
          {waiting === 1 ? 'One file' : `${waiting} files`}
        </li>
      )}
    </ul>
  );
}
