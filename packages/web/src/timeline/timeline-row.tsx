import { useId, useState, type CSSProperties } from 'react';
import { durationText } from '../screen/duration-text.js';
import { Icon, type IconName } from '../ui/icon.js';
import { costText, labelOf, stateText, tokensText } from './labels.js';
import type { TimelineRow, TurnStep } from './rows.js';
import styles from './timeline.module.css';

const ICONS: Readonly<Record<string, IconName>> = {
  model_call: 'swarm',
  text: 'chat',
  tool_call: 'tool',
  approval: 'user',
  delegation: 'agents',
};

export interface RowProps {
  row: TimelineRow;
  /** Whether the steps of the task are shown. */
  isExpanded: boolean;
  /** Shows or hides the steps of a task. */
  onToggle: (turnId: string) => void;
}

/** A step with its bar. A click shows its details; for a task, the steps of the other agent. */
export function Row({ row, isExpanded, onToggle }: RowProps) {
  const { step, state, depth, from, length, durationMs } = row;
  const [isOpen, setOpen] = useState(false);
  const details = useId();
  const { title, note } = labelOf(step);
  const task = step.delegation?.turn_id;
  const place = { '--depth': depth, '--from': from, '--length': length } as CSSProperties;
  const toggle = () => (task === undefined ? setOpen(!isOpen) : onToggle(task));
  const time = durationMs === null ? '' : durationText(durationMs);
  return (
    <li className={styles['row']} data-type={step.type} data-state={state} style={place}>
      <button
        type="button"
        className={styles['head']}
        aria-expanded={task === undefined ? isOpen : isExpanded}
        aria-controls={task === undefined && isOpen ? details : undefined}
        onClick={toggle}
      >
        <span className={styles['icon']}>
          <Icon name={ICONS[step.type] ?? 'clock'} size={16} />
        </span>
        <span className={styles['label']}>
          <span className={styles['title']}>{title}</span>
          {note !== undefined && <span className={styles['note']}>{note}</span>}
        </span>
        <span className={styles['time']}>
          {state === 'done' ? <span className="hidden">done</span> : <span>{stateText(state)}</span>}
          {time}
        </span>
        <span className={styles['chevron']}>
          <Icon name="chevron" size={14} />
        </span>
        <span className={styles['track']} aria-hidden>
          <span className={styles['bar']} />
        </span>
      </button>
      {isOpen && (
        <div id={details} className={styles['details']}>
          <Details step={step} />
        </div>
      )}
    </li>
  );
}

function Details({ step }: { step: TurnStep }) {
  const { model_call: model, text, tool_call: call, approval } = step;
  const facts: [string, string][] = [];
  if (model !== null) {
    facts.push(['Model', `${model.model} (${model.provider})`]);
    facts.push([
      'Read',
      `${tokensText(model.prompt_tokens)}, ${model.cached_tokens.toLocaleString('en')} of them cached`,
    ]);
    facts.push(['Wrote', tokensText(model.completion_tokens)]);
    if (model.cost_micros !== null) facts.push(['Cost', costText(model.cost_micros)]);
    if (model.estimated) facts.push(['Note', 'The tokens are an estimate.']);
  }
  if (call?.receipt_id) facts.push(['Receipt', call.receipt_id]);
  if (approval !== null) facts.push(['Could be decided until', new Date(approval.expires_at).toLocaleString()]);
  facts.push(['Began', new Date(step.started_at).toLocaleTimeString()]);
  return (
    <>
      {text !== null && <Cut label="Text" value={text.text} truncated={text.truncated} />}
      {call !== null && <Cut label="Arguments" value={call.arguments} truncated={call.arguments_truncated} />}
      {call !== null && <Cut label="Result" value={call.result} truncated={call.result_truncated} />}
      <dl className={styles['facts']}>
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}

/** Text of models and of others: never as Markdown. */
function Cut({ label, value, truncated }: { label: string; value: string | null; truncated: boolean }) {
  if (value === null) return <p className={styles['none']}>{label}: not shown or not stored.</p>;
  return (
    <figure className={styles['cut']}>
      <figcaption>{truncated ? `${label}, the beginning` : label}</figcaption>
      <pre tabIndex={0}>{value}</pre>
    </figure>
  );
}
