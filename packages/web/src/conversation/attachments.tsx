import type { Attachment } from '@uswarm/client';
import { ownUrl } from '../session/own-url.js';
import { fileSize } from '../ui/file-size.js';
import { Icon } from '../ui/icon.js';
import styles from './message.module.css';

/** @param props.waiting the number of files that are not uploaded yet */
export function Attachments({ attachments, waiting }: { attachments: Attachment[]; waiting: number }) {
  if (attachments.length + waiting === 0) return null;
  return (
    <ul className={styles['files']}>
      {attachments.map((file) => (
        <li key={file.id}>
          <a href={ownUrl(file.url)} target="_blank" rel="noreferrer" className={styles['file']}>
            <Icon name="clip" size={15} />
            {file.name} <small>{fileSize(file.size)}</small>
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
