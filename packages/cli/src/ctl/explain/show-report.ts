import { age, block, plain, table } from '../show.js';
import type { Report } from './report.js';

const since = (seconds: number | null): string => (seconds === null ? 'unknown' : age(seconds));
const section = (title: string, body: string): string => `\n${title}\n${indent(body)}`;
const indent = (text: string): string =>
  text
    .split('\n')
    .map((line) => `  ${line}`)
    .join('\n');

/** Renders the report as text, without control characters. */
export function showReport(report: Report): string {
  const { conditions, events, pods, unreadable, failed_turns: turns } = report;
  return [
    summary(report),
    section('Recommended actions', report.next.map((step) => `- ${plain(step)}`).join('\n')),
    section(
      'Conditions',
      conditions.length === 0
        ? 'None.'
        : table(
            ['TYPE', 'STATUS', 'REASON', 'SINCE', 'MESSAGE'],
            conditions.map((each) => [each.type, each.status, each.reason, since(each.age_s), plain(each.message)]),
          ),
    ),
    section('Sync', syncText(report)),
    section('Pods', pods.length === 0 ? 'None.' : pods.map(podText).join('\n')),
    section('Events, newest first', events.length === 0 ? 'None.' : eventTable(events)),
    ...(turns === null || turns.length === 0 ? [] : [section('Failed turns, newest first', turnTable(turns))]),
    ...(unreadable.length === 0
      ? []
      : [section('Unreadable', unreadable.map(({ what, why }) => `${what}: ${plain(why)}`).join('\n'))]),
  ].join('\n');
}

function summary(report: Report): string {
  const { deployment, suspended, deletion } = report;
  const optional = (name: string, value: string | null): [string, string][] =>
    value === null || value === '' ? [] : [[name, plain(value)]];
  return block(report.name, [
    ['phase', `${report.phase}${report.reason === null ? '' : ` (${report.reason})`}`],
    ...optional('message', report.message),
    ['user', plain(report.user_id)],
    ['namespace', report.namespace],
    ['age', since(report.age_s)],
    ...optional('image', report.image),
    ...(suspended === null
      ? []
      : [['suspended', `by ${plain(suspended.by)}, ${since(suspended.age_s)} ago`] satisfies [string, string]]),
    ...(deletion === null ? [] : [['deleted', `${since(deletion.age_s)} ago`] satisfies [string, string]]),
    [
      'deployment',
      deployment === null
        ? 'none'
        : `${deployment.ready} of ${deployment.wanted} ready${deployment.why === null ? '' : `; ${plain(deployment.why)}`}`,
    ],
  ]);
}

function syncText({ sync, conditions, outdated }: Report): string {
  const synced = conditions.find(({ type }) => type === 'Synced');
  const workload = (name: string, found: Report['sync']['controller']): string =>
    `${name}: ${found === null ? 'not found' : `${found.name}, ${found.ready} of ${found.wanted} ready`}`;
  const { leader, framework } = sync;
  const led = leader === null ? '' : `; leader ${plain(leader.holder)}, renewed ${since(leader.renewed_s_ago)} ago`;
  const ago = (seconds: number | null): string => (seconds === null ? 'never' : `${since(seconds)} ago`);
  const children =
    synced === undefined
      ? 'children: unknown'
      : `children: ${synced.status === 'True' ? 'synced' : `${synced.reason}: ${plain(synced.message)}`}, since ${since(synced.age_s)}`;
  return [
    // Metacontroller does not report when it writes children.
    ...(framework === 'metacontroller' ? [] : [children, `children last written: ${ago(sync.children_written_s_ago)}`]),
    `status last written: ${ago(sync.status_written_s_ago)}${outdated ? ', outdated' : ''}`,
    framework === 'metacontroller'
      ? 'controller: Metacontroller, by CompositeController userswarm-controller'
      : `${workload('controller', sync.controller)}${led}`,
    workload('webhook', sync.webhook),
  ].join('\n');
}

function podText({ name, phase, node, age_s, leaving, containers }: Report['pods'][number]): string {
  const where = node === null ? 'unscheduled' : `on ${node}`;
  const lines = containers.map(({ name: container, ready, restarts, state, last_end: end }) =>
    plain(
      `  ${container}: ${state}, ${ready ? 'ready' : 'not ready'}, ${restarts} restarts${end === null ? '' : `; last termination: ${end}`}`,
    ),
  );
  return [`${name}: ${plain(phase)} ${where}, ${since(age_s)} old${leaving ? ', terminating' : ''}`, ...lines].join(
    '\n',
  );
}

const eventTable = (events: Report['events']): string =>
  table(
    ['AGE', 'TYPE', 'REASON', 'OBJECT', 'MESSAGE'],
    events.map(({ age_s, type, reason, about, count, message }) => [
      since(age_s),
      plain(type),
      plain(reason),
      plain(about),
      `${count > 1 ? `(${count} times) ` : ''}${plain(message)}`,
    ]),
  );

const turnTable = (turns: NonNullable<Report['failed_turns']>): string =>
  table(
    ['TURN', 'AGE', 'ERROR', 'TRACE'],
    turns.map(({ id, age_s, error, trace_id: trace }) => [
      id,
      age(age_s),
      plain(error ?? 'none'),
      plain(trace ?? 'none'),
    ]),
  );
