import { ui } from '../ui/ui.js';
import { lazy, Suspense } from 'react';
import type { Above } from './markdown.js';
import styles from './message.module.css';
import { OrPlain } from './or-plain.js';
import { visibleText } from './visible-text.js';

const Markdown = lazy(() => import('./markdown.js'));

/** The text is readable before the Markdown code is loaded. */
export function Text({ text, above = 'h2' }: { text: string; above?: Above }) {
  const plain = <Plain text={text} />;
  return (
    <div className={styles['text']}>
      <OrPlain plain={plain}>
        <Suspense fallback={plain}>
          <Markdown text={text} above={above} />
        </Suspense>
      </OrPlain>
    </div>
  );
}

export const Plain = ({ text }: { text: string }) => <p className={ui('plain')}>{visibleText(text)}</p>;
