import type { ShownMessage } from '@uswarm/client';
import { Link } from 'wouter';
import { useNow } from '../screen/use-now.js';
import { panel } from '../session/pages.js';
import { Icon } from '../ui/icon.js';
import { ui } from '../ui/ui.js';
import { durationOf } from './duration.js';
import styles from './message.module.css';
import { LABELS, TONES } from './work-states.js';

/** Collapses to one line when all calls are done. */
export function ToolLines({ messages, isPinned }: { messages: ShownMessage[]; isPinned: boolean }) {
  const calls = messages.flatMap(({ key, content, message }) =>
    content.type === 'tool_status' && 'tool' in content ? [{ key, ...content, message }] : [],
  );
  const isRunning = calls.some(({ state }) => state === 'running');
  const now = useNow(isRunning);
  const failed = calls.filter(({ state }) => state === 'failed').length;
  const [only] = calls;
  const summary =
    calls.length === 1 ? only?.description : `${calls.length} steps${failed > 0 ? `, ${failed} failed` : ''}`;
  return (
    <details className={styles['tools']} open={isRunning || isPinned || undefined}>
      <summary className={ui('row lead')}>
        <State state={isRunning ? 'running' : failed > 0 ? 'failed' : 'completed'} />
        <span>
          {isRunning ? (calls.findLast(({ state }) => state === 'running')?.description ?? summary) : summary}
        </span>
        <small>{durationOf(calls, now)}</small>
        <Icon name="chevron" size={14} />
      </summary>
      <ul>
        {calls.map(({ key, tool, description, state, message }) => (
          <li key={key} className={ui('row lead')}>
            <State state={state} />
            <code>{tool}</code> {description}{' '}
            {calls.length > 1 && <small>{durationOf([{ state, message }], now)}</small>}
            {message?.turn_id !== undefined && (
              <Link className={ui('more')} href={panel.timeline(message.turn_id)}>
                Arguments and result
              </Link>
            )}
          </li>
        ))}
      </ul>
    </details>
  );
}

export function State({ state }: { state: string }) {
  const name = state === 'failed' ? 'alert' : state === 'completed' ? 'check' : 'clock';
  return (
    <span className={styles['mark']} data-tone={TONES[state] ?? 'plain'}>
      {state === 'running' ? <span className={ui('spinner')} /> : <Icon name={name} size={14} />}
      <span className="hidden">{LABELS[state] ?? state}:</span>
    </span>
  );
}
