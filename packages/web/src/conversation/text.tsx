import { ui } from '../ui/ui.js';
import { lazy, Suspense } from 'react';
import type { Above } from './markdown.js';
import styles from './message.module.css';
import { visibleText } from './visible-text.js';

const Markdown = lazy(() => import('./markdown.js'));

/** The text is readable before the code for Markdown is loaded. */
export function Text({ text, above = 'h2' }: { text: string; above?: Above }) {
  return (
    <div className={styles['text']}>
      <Suspense fallback={<p className={ui('plain')}>{visibleText(text)}</p>}>
        <Markdown text={text} above={above} />
      </Suspense>
    </div>
  );
}

export const Plain = ({ text }: { text: string }) => <p className={ui('plain')}>{visibleText(text)}</p>;
