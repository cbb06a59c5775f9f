import { ui } from '../ui/ui.js';
import { Boundary } from '../ui/boundary.js';
import { part } from '../ui/part.js';
import type { Above } from './markdown.js';
import styles from './message.module.css';
import { visibleText } from './visible-text.js';

const Markdown = part(() => import('./markdown.js'));

/** The text is readable before the Markdown code is loaded. */
export function Text({ text, above = 'h2' }: { text: string; above?: Above }) {
  const plain = <Plain text={text} />;
  return (
    <div className={styles['text']}>
      <Boundary waiting={plain} instead={plain}>
        <Markdown text={text} above={above} />
      </Boundary>
    </div>
  );
}

export const Plain = ({ text }: { text: string }) => <p className={ui('plain')}>{visibleText(text)}</p>;
