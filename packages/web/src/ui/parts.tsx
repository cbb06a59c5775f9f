import { type CSSProperties, type ReactNode, useEffect, useState } from 'react';
import { describeAge } from './age.js';
import { Icon } from './icon.js';
import type { IconName } from './icons.js';
import type { Tone } from './tone.js';
import { ui } from './ui.js';

export function Badge({ tone = 'plain', children }: { tone?: Tone; children: ReactNode }) {
  return (
    <span className={ui('badge')} data-tone={tone}>
      {children}
    </span>
  );
}

export const Problem = ({ children }: { children: ReactNode }) => (
  <p role="alert" className={ui('notice')} data-tone="bad">
    {children}
  </p>
);

/** `label` tells screen readers what it waits for. */
export function Spinner({ label }: { label: string }) {
  return (
    <span role="status">
      <span className={ui('spinner')} aria-hidden />
      <span className="hidden">{label}</span>
    </span>
  );
}

type EmptyStateProps = { icon: IconName; title: string; as?: 'h1' | 'h2'; children?: ReactNode };
/** Explains what an empty screen would show, and what to do. */
export function EmptyState({ as: Heading = 'h2', ...props }: EmptyStateProps) {
  return (
    <div className={ui('center')}>
      <span className={ui('symbol large')} aria-hidden>
        <Icon name={props.icon} size={24} />
      </span>
      <Heading>{props.title}</Heading>
      {props.children}
    </div>
  );
}

/** `length` and `from` are shares of 1. */
export function Bar({ tone = 'accent', length, from = 0 }: { tone?: Tone; length: number; from?: number }) {
  // CSS takes a background's position as a share of the remaining space.
  const at = length < 1 ? from / (1 - length) : 0;
  const place = { '--length': `${100 * length}%`, '--at': `${100 * at}%` } as CSSProperties;
  return <span className={ui('bar')} data-tone={tone} style={place} aria-hidden />;
}

/** “3 min ago”, kept up to date; the exact time is its title. */
export function RelativeTime({ at }: { at: string }) {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 30_000);
    return () => clearInterval(timer);
  }, []);
  const date = new Date(at);
  return (
    <time dateTime={at} title={date.toLocaleString()}>
      {describeAge(date, now)}
    </time>
  );
}
