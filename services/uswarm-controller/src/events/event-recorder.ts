import { createHash, randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isNotFound, type KubeClient, type KubernetesObject } from '@uswarm/kube-client';
import type { Clock, Logger } from '@uswarm/service-kit';
import { EVENTS } from '../resources.js';

export interface RecordedEvent {
  type: 'Normal' | 'Warning';
  /** CamelCase. */
  reason: string;
  message: string;
}

export interface EventRecorder {
  /** Never blocks and never throws: a reconcile does not depend on its Events. */
  record(about: KubernetesObject, event: RecordedEvent): void;
  /** Waits up to `CLOSE_MS` for queued Events. */
  close(): Promise<void>;
}

export interface EventRecorderDeps {
  client: Pick<KubeClient, 'create' | 'mergePatch'>;
  /** For cluster-scoped objects, the API server accepts Events in `default` and `kube-system` only. */
  namespace: string;
  component: string;
  instance: string;
  clock: Clock;
  logger: Pick<Logger, 'warn'>;
  onDropped?: () => void;
}

/** Milliseconds within which a repeated Event increases the first one's count. */
const SAME_MS = 10 * 60_000;
/** Milliseconds that a shutdown waits for queued Events. */
const CLOSE_MS = 2_000;
const MAX_WAITING = 1_000;
const MAX_REMEMBERED = 4_096;
const MAX_MESSAGE = 1_024;

interface Remembered {
  name: string;
  count: number;
  lastMs: number;
}

/** Records Events for `kubectl describe`. A repetition within ten minutes only increases the count. */
export function createEventRecorder(deps: EventRecorderDeps): EventRecorder {
  const { client, namespace, clock, logger, onDropped = () => {} } = deps;
  const remembered = new Map<string, Remembered>();
  const waiting: { about: KubernetesObject; event: RecordedEvent }[] = [];
  let writing: Promise<void> | undefined;

  const write = async (about: KubernetesObject, event: RecordedEvent): Promise<void> => {
    const now = clock.now();
    const key = identity(about, event);
    const known = remembered.get(key);
    if (known !== undefined && now.getTime() - known.lastMs < SAME_MS) {
      const again = { ...known, count: known.count + 1, lastMs: now.getTime() };
      const patch = { count: again.count, lastTimestamp: seconds(now) };
      try {
        await client.mergePatch(EVENTS, { namespace, name: known.name }, patch);
        remembered.set(key, again);
        return;
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    }
    const object = describe(deps, about, event, now);
    await client.create(EVENTS, object);
    remember(remembered, key, { name: object.metadata.name, count: 1, lastMs: now.getTime() });
  };
  const drain = async (): Promise<void> => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) {
      await write(item.about, item.event).catch((error: unknown) => {
        logger.warn({ err: error, reason: item?.event.reason }, 'failed to record an Event');
      });
    }
    writing = undefined;
  };
  return {
    record(about, event) {
      if (waiting.length >= MAX_WAITING) {
        onDropped();
        return;
      }
      waiting.push({ about, event: { ...event, message: event.message.slice(0, MAX_MESSAGE) } });
      writing ??= drain();
    },
    async close() {
      await Promise.race([writing, sleep(CLOSE_MS, undefined, { ref: false })]);
      waiting.length = 0;
    },
  };
}

const identity = ({ metadata }: KubernetesObject, { type, reason, message }: RecordedEvent): string =>
  createHash('sha256')
    .update(JSON.stringify([metadata.uid, type, reason, message]))
    .digest('base64url');

const seconds = (time: Date): string => time.toISOString().replace(/\.\d+Z$/, 'Z');

function remember(remembered: Map<string, Remembered>, key: string, event: Remembered): void {
  remembered.delete(key);
  remembered.set(key, event);
  const [oldest] = remembered.keys();
  if (remembered.size > MAX_REMEMBERED && oldest !== undefined) remembered.delete(oldest);
}

function describe(
  { namespace, component, instance }: EventRecorderDeps,
  { apiVersion, kind, metadata }: KubernetesObject,
  { type, reason, message }: RecordedEvent,
  now: Date,
): KubernetesObject {
  const { name, uid, resourceVersion } = metadata;
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { namespace, name: `${name}.${randomBytes(8).toString('hex')}` },
    involvedObject: { apiVersion, kind, name, uid, resourceVersion },
    type,
    reason,
    message,
    count: 1,
    firstTimestamp: seconds(now),
    lastTimestamp: seconds(now),
    source: { component },
    reportingComponent: component,
    reportingInstance: instance,
  };
}
