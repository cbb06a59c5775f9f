import { type CSSProperties, useId, useState } from 'react';
import { durationText } from '../screen/duration-text.js';
import { Icon } from '../ui/icon.js';
import { Pairs } from '../ui/item.js';
import { Bar } from '../ui/parts.js';
import { ui } from '../ui/ui.js';
import { factsOf, iconOf, labelOf, stateText, toneOf } from './labels.js';
import type { TimelineRow, TurnStep } from './rows.js';
import styles from './timeline.module.css';

export interface RowProps {
  row: TimelineRow;
  /** True if the task's steps are shown. */
  isExpanded: boolean;
  /** Shows or hides a task's steps. */
  onToggle: (turnId: string) => void;
}

/** A step with its bar. A click shows its details, or for a task, the other agent's steps. */
export function Row({ row, isExpanded, onToggle }: RowProps) {
  const { step, state, depth, from, length, durationMs } = row;
  const [isOpen, setOpen] = useState(false);
  const details = useId();
  const { title, note } = labelOf(step);
  const task = step.delegation?.turn_id;
  const toggle = () => (task === undefined ? setOpen(!isOpen) : onToggle(task));
  const time = durationMs === null ? '' : durationText(durationMs);
  return (
    <li style={{ '--depth': depth } as CSSProperties}>
      <button
        type="button"
        className={ui('item', styles['head'])}
        data-type={step.type}
        aria-expanded={task === undefined ? isOpen : isExpanded}
        aria-controls={task === undefined && isOpen ? details : undefined}
        onClick={toggle}
      >
        <Icon name={iconOf(step)} size={16} />
        <span className={ui('grow', styles['label'])}>
          <strong className={ui('clip')}>{title}</strong>
          {note !== undefined && <small className={ui('clip')}>{note}</small>}
        </span>
        <small data-tone={state === 'done' ? 'plain' : toneOf(row)}>
          {state === 'done' ? <span className="hidden">done</span> : <b>{stateText(state)}</b>} {time}
        </small>
        <Icon name="chevron" size={14} />
        <Bar tone={toneOf(row)} from={from} length={length} />
      </button>
      {isOpen && (
        <div id={details} className={ui('stack', styles['details'])}>
          <Details step={step} />
        </div>
      )}
    </li>
  );
}

function Details({ step }: { step: TurnStep }) {
  const { text, tool_call: call } = step;
  return (
    <>
      {text !== null && <Cut label="Text" value={text.text} truncated={text.truncated} />}
      {call !== null && <Cut label="Arguments" value={call.arguments} truncated={call.arguments_truncated} />}
      {call !== null && <Cut label="Result" value={call.result} truncated={call.result_truncated} />}
      <Pairs pairs={factsOf(step)} />
    </>
  );
}

/** Never renders Markdown, because the text is untrusted. */
function Cut({ label, value, truncated }: { label: string; value: string | null; truncated: boolean }) {
  if (value === null) return <small>{label}: not shown or not stored.</small>;
  return (
    <figure className={ui('stack tight')}>
      <figcaption>{truncated ? `${label}, the beginning` : label}</figcaption>
      <pre tabIndex={0}>{value}</pre>
    </figure>
  );
}
