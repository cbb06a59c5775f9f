import { useEffect, useRef, useState } from 'react';
import { Choice } from '../screen/screen.js';
import { Button } from '../ui/button.js';
import { copy } from '../ui/copy.js';
import { Icon } from '../ui/icon.js';
import { Badge, EmptyState } from '../ui/parts.js';
import { ui } from '../ui/ui.js';
import styles from './developer.module.css';
import { type Document, examplesOf, KINDS, PLACES, routeOf } from './examples.js';
import { useRecorded } from './use-recorded.js';
import type { Recorded } from '../session/recorder.js';

/** Lists this screen's API calls and events, each as code for another app. */
export function DeveloperDrawer({ onClose }: { onClose: () => void }) {
  const { shown, document, clear, kind, setKind, place, setPlace } = useRecorded();
  const region = useRef<HTMLElement>(null);
  useEffect(() => region.current?.focus(), []);
  return (
    <aside
      ref={region}
      tabIndex={-1}
      className={styles['drawer']}
      aria-label="For developers"
      onKeyDown={(event) => event.key === 'Escape' && onClose()}
    >
      <header className={ui('row')}>
        <h2 className={ui('grow')}>For developers</h2>
        <Choice label="Kind" value={kind} options={KINDS} onChange={setKind} />
        <Choice label="Where" value={place} options={PLACES} onChange={setPlace} />
        <Button size="small" onClick={clear}>
          Clear
        </Button>
        <Button size="icon" look="quiet" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </Button>
      </header>
      {shown.length === 0 && (
        <EmptyState icon="tool" title="Nothing yet">
          <p>Calls of the API and events appear here while you use the page.</p>
        </EmptyState>
      )}
      <ol>
        {shown.map((one) => (
          <li key={one.id}>
            <Entry one={one} document={document} />
          </li>
        ))}
      </ol>
    </aside>
  );
}

function Entry({ one, document }: { one: Recorded; document: Document | undefined }) {
  const [isOpen, setOpen] = useState(false);
  const route = one.kind === 'call' && document !== undefined ? routeOf(one, document) : undefined;
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className={ui('row')}>
        <time dateTime={new Date(one.at).toISOString()}>{new Date(one.at).toLocaleTimeString()}</time>
        {one.kind === 'event' ? (
          <>
            <Badge tone="accent">event</Badge> <code>{one.name}</code>
          </>
        ) : (
          <>
            <Badge tone={one.status >= 400 || (one.status === 0 && one.ms !== null) ? 'bad' : 'ok'}>
              {one.ms === null ? '…' : one.status || 'failed'}
            </Badge>
            <code>
              {one.method} {new URL(one.url).pathname}
            </code>
            <small>
              {route?.summary} {one.ms !== null && `${one.ms} ms`}
            </small>
          </>
        )}
      </summary>
      {isOpen && <Code one={one} route={route} />}
    </details>
  );
}

function Code({ one, route }: { one: Recorded; route: ReturnType<typeof routeOf> }) {
  return examplesOf(one, route).map(([title, text]) => (
    <figure key={title}>
      <figcaption className={ui('row')}>
        {title}
        <Button size="small" look="quiet" aria-label={`Copy ${title}`} onClick={() => void copy(text)}>
          Copy
        </Button>
      </figcaption>
      <pre tabIndex={0} aria-label={title}>
        {text}
      </pre>
    </figure>
  ));
}
