import { type ReactNode, useId } from 'react';
import { useLocation } from 'wouter';
import { UswarmError } from '@uswarm/client';
import type { Loaded } from '../session/use-client.js';
import type { Meter } from '../usage/amounts.js';
import { Button, ButtonLink } from '../ui/button.js';
import { Dialog, DialogActions } from '../ui/dialog.js';
import { Icon } from '../ui/icon.js';
import { EmptyState, Spinner } from '../ui/parts.js';
import styles from './screen.module.css';

/** A whole screen: what it is, one sentence that teaches it, and what can be done. */
export function Screen(props: { title: string; lead?: ReactNode; actions?: ReactNode; children: ReactNode }) {
  return (
    <div className={styles['screen']}>
      <header className={styles['head']}>
        <div>
          <h1>{props.title}</h1>
          {props.lead !== undefined && <p className={styles['lead']}>{props.lead}</p>}
        </div>
        {props.actions !== undefined && <div className={styles['row']}>{props.actions}</div>}
      </header>
      {props.children}
    </div>
  );
}

/** A part of a screen with a heading. */
export function Section(props: { title: string; lead?: ReactNode; children: ReactNode }) {
  const id = useId();
  return (
    <section aria-labelledby={id} className={styles['section']}>
      <div>
        <h2 id={id}>{props.title}</h2>
        {props.lead !== undefined && <p className={styles['lead']}>{props.lead}</p>}
      </div>
      {props.children}
    </section>
  );
}

/** What was loaded, or why it was not. The last data stays while it is loaded again. */
export function Show<Value>(props: { loaded: Loaded<Value>; what: string; children: (data: Value) => ReactNode }) {
  const { data, error, reload } = props.loaded;
  if (data !== undefined) return props.children(data);
  if (error === undefined)
    return (
      <p className={styles['loading']}>
        <Spinner label={`Loading ${props.what}`} />
      </p>
    );
  const isOffline = error instanceof UswarmError && error.code === 'network_error';
  return (
    <EmptyState icon="alert" title={`The ${props.what} could not be loaded`}>
      <p>{isOffline ? 'The service cannot be reached. Check your connection.' : error.message}</p>
      <Button onClick={reload}>Try again</Button>
    </EmptyState>
  );
}

const NOTES = { within: '', near: 'Nearly used', over: 'Used up' } as const;

/** How much of a limit is used. */
export function MeterBar({ meter }: { meter: Meter }) {
  const id = useId();
  const { label, used, limit, text, left, state } = meter;
  return (
    <div className={styles['meter']} data-state={state}>
      <span id={id}>{label}</span>
      <span>
        {NOTES[state] !== '' && <strong>{NOTES[state]} · </strong>}
        {text} · {left}
      </span>
      <div
        role="meter"
        aria-labelledby={id}
        aria-valuemin={0}
        aria-valuemax={limit}
        aria-valuenow={Math.min(used, limit)}
        aria-valuetext={`${text}, ${left}`}
      >
        <i style={{ inlineSize: `${Math.min(100, (100 * used) / Math.max(1, limit))}%` }} />
      </div>
    </div>
  );
}

/** One of a few choices, which arrow keys change. */
export function Choice<Value extends string>(props: {
  label: string;
  value: Value;
  options: readonly { value: Value; label: string; disabled?: boolean }[];
  onChange: (value: Value) => void;
}) {
  const name = useId();
  return (
    <div role="radiogroup" aria-label={props.label} className={styles['choice']}>
      {props.options.map(({ value, label, disabled }) => (
        <label key={value}>
          <input
            type="radio"
            name={name}
            checked={value === props.value}
            disabled={disabled}
            onChange={() => props.onChange(value)}
          />
          <span>{label}</span>
        </label>
      ))}
    </div>
  );
}

/** A side panel of a conversation. */
export function PanelFrame(props: { title: string; actions?: ReactNode; children: ReactNode }) {
  const [path] = useLocation();
  return (
    <div className={styles['panel']}>
      <header className={styles['head']}>
        <h2>{props.title}</h2>
        {props.actions}
        <ButtonLink href={path} look="quiet" size="icon">
          <Icon name="close" />
          <span className="hidden">Close the details</span>
        </ButtonLink>
      </header>
      {props.children}
    </div>
  );
}

/** Asks before something is lost. `keep` is the way out. */
export function Confirm(props: {
  title: string;
  description: string;
  keep: string;
  action: string;
  onClose: () => void;
  onConfirm: () => void;
}) {
  return (
    <Dialog title={props.title} description={props.description} onClose={props.onClose}>
      <DialogActions>
        <Button onClick={props.onClose}>{props.keep}</Button>
        <Button look="danger" onClick={props.onConfirm}>
          {props.action}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
