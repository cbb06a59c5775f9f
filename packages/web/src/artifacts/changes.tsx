import { useMemo } from 'react';
import styles from './artifact.module.css';
import type { Tone } from '../ui/tone.js';
import { diffOf, type DiffLine } from './diff.js';

const SIGNS: Record<DiffLine['kind'], string> = { same: ' ', added: '+', removed: '−', skipped: '…' };
const WORDS: Partial<Record<DiffLine['kind'], string>> = { added: 'Added: ', removed: 'Removed: ' };

const TONES: Partial<Record<DiffLine['kind'], Tone>> = { added: 'ok', removed: 'bad', skipped: 'plain' };

export default function Changes({ before, after }: { before: string; after: string }) {
  const lines = useMemo(() => diffOf(before, after), [before, after]);
  if (lines === undefined) return <p role="note">The versions differ too much to compare them line by line.</p>;
  if (lines.every(({ kind }) => kind === 'same' || kind === 'skipped')) return <p>The text is the same.</p>;
  return (
    <ol className={styles['changes']} aria-label="Changed lines">
      {lines.map(({ kind, text }, at) => (
        <li key={at} data-tone={TONES[kind]}>
          <span aria-hidden>{SIGNS[kind]}</span>
          {WORDS[kind] !== undefined && <span className="hidden">{WORDS[kind]}</span>}
          <span>{text}</span>
        </li>
      ))}
    </ol>
  );
}
