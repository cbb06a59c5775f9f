import { type ReactNode, useId } from 'react';
import { useLocation } from 'wouter';
import { UswarmError } from '@uswarm/client';
import type { Loaded } from '../session/use-client.js';
import type { Meter } from '../usage/amounts.js';
import { Button, ButtonLink } from '../ui/button.js';
import { Icon } from '../ui/icon.js';
import { Bar, EmptyState, Spinner } from '../ui/parts.js';
import { ui } from '../ui/ui.js';
import styles from './screen.module.css';

/** A whole screen with its title, an explaining sentence and its actions. */
export function Screen(props: { title: string; lead?: ReactNode; actions?: ReactNode; children?: ReactNode }) {
  return (
    <div className={ui('stack loose', styles['screen'])}>
      <header className={ui('row between')}>
        <div className={ui('stack tight')}>
          <h1>{props.title}</h1>
          {props.lead !== undefined && <p className={ui('lead')}>{props.lead}</p>}
        </div>
        {props.actions}
      </header>
      {props.children}
    </div>
  );
}

export function Section(props: { title: string; lead?: ReactNode; children: ReactNode }) {
  const id = useId();
  return (
    <section aria-labelledby={id} className={ui('stack')}>
      <div className={ui('stack tight')}>
        <h2 id={id}>{props.title}</h2>
        {props.lead !== undefined && <p className={ui('lead')}>{props.lead}</p>}
      </div>
      {props.children}
    </section>
  );
}

/** Shows loaded data or the error. The last data stays while it reloads. */
export function Show<Value>(props: { loaded: Loaded<Value>; what: string; children: (data: Value) => ReactNode }) {
  const { data, error, reload } = props.loaded;
  if (data !== undefined) return props.children(data);
  if (error === undefined)
    return (
      <p className={ui('center')}>
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

export function MeterBar({ meter: { label, used, limit, text, left, note, tone } }: { meter: Meter }) {
  const id = useId();
  return (
    <div className={ui('stack tight')}>
      <p className={ui('row between')}>
        <span id={id}>{label}</span>
        <small>
          <strong>{note}</strong>
          {text} · {left}
        </small>
      </p>
      <div
        role="meter"
        aria-labelledby={id}
        aria-valuemin={0}
        aria-valuemax={limit}
        aria-valuenow={Math.min(used, limit)}
        aria-valuetext={`${text}, ${left}`}
      >
        <Bar tone={tone} length={Math.min(1, used / Math.max(1, limit))} />
      </div>
    </div>
  );
}

/** A few options; arrow keys change the selected one. */
export function Choice<Value extends string>(props: {
  label: string;
  value: Value;
  options: readonly { value: Value; label: string; disabled?: boolean }[];
  onChange: (value: Value) => void;
}) {
  const name = useId();
  return (
    <div role="radiogroup" aria-label={props.label} className={ui('row', styles['choice'])}>
      {props.options.map(({ value, label, disabled }) => (
        <label key={value} className={ui('button quiet small')}>
          <input
            type="radio"
            name={name}
            checked={value === props.value}
            disabled={disabled}
            onChange={() => props.onChange(value)}
          />
          {label}
        </label>
      ))}
    </div>
  );
}

/** A conversation's side panel. */
export function PanelFrame({ title, children }: { title: string; children: ReactNode }) {
  const [path] = useLocation();
  const id = useId();
  return (
    <section aria-labelledby={id} className={ui('stack', styles['panel'])}>
      <header className={ui('row')}>
        <h2 id={id} className={ui('grow')}>
          {title}
        </h2>
        <ButtonLink href={path} look="quiet" size="icon">
          <Icon name="close" />
          <span className="hidden">Close the details</span>
        </ButtonLink>
      </header>
      {children}
    </section>
  );
}
