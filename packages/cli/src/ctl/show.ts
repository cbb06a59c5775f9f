import type { AdminAnswer, AdminServerTool, AdminTurn, AdminUser, AdminWorkspace, AuditEntry } from '@uswarm/contract';
import { UNPRINTABLE } from '@uswarm/service-kit';

// Renders responses as text. Control characters in text of users are removed: they could control the terminal.

export const plain = (text: string): string => text.replaceAll(UNPRINTABLE, '');
const orNone = (text: string | null): string => (text === null || text === '' ? '-' : plain(text));
const number = (value: number): string => value.toLocaleString('en');

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, ...rows];
  const widths = head.map((_title, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

export const block = (title: string, rows: readonly (readonly [string, string])[]): string =>
  [title, ...rows.map(([name, value]) => `  ${name.padEnd(12)}${value}`)].join('\n');

/** A duration in seconds in its largest unit: `48s`, `5m`, `3h`, `2d`. */
export function age(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)}s`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)}m`;
  if (seconds < 48 * 3_600) return `${Math.round(seconds / 3_600)}h`;
  return `${Math.round(seconds / 86_400)}d`;
}

const usageOf = ({ period, tokens_used, token_limit, request_count }: AdminUser['usage']): string =>
  `${number(tokens_used)} of ${number(token_limit)} tokens in ${period}, ${number(request_count)} model calls`;

export function user(shown: AdminUser): string {
  const ends = shown.plan_expires_at === null ? '' : `, expires at ${shown.plan_expires_at}`;
  return [
    block(shown.id, [
      ['e-mail', orNone(shown.email)],
      ['name', orNone(shown.name)],
      ['identity', `${plain(shown.idp_uid)} at ${plain(shown.issuer)}`],
      ['banned', shown.is_banned ? 'yes' : 'no'],
      ['plan', `${shown.plan}${ends}`],
      ['usage', usageOf(shown.usage)],
      ['terms', `accepted ${orNone(shown.accepted_terms_of_service)}`],
      ['privacy', `accepted ${orNone(shown.accepted_privacy_policy)}`],
      ['since', shown.created_at],
      ...shown.workspaces.map(
        ({ id, name, runtime }) => ['workspace', `${id}  ${runtime}  ${plain(name)}`] satisfies [string, string],
      ),
      ...shown.devices.map(
        (device) =>
          [
            'device',
            `${orNone(device.info)}, app ${orNone(device.app_version)}, ${orNone(device.timezone)}, ` +
              `${device.has_push_token ? 'with' : 'without'} push token, last seen ${device.last_seen_at}`,
          ] satisfies [string, string],
      ),
    ]),
  ].join('\n');
}

const definition = ({
  description,
  input_schema: schema,
  read_only: readOnly,
}: AdminServerTool['accepted']): string[] => [
  `description  ${plain(description)}`,
  `schema       ${plain(JSON.stringify(schema))}`,
  `read-only    ${readOnly ? 'yes' : 'no'}`,
];

/** Of changed tools, each line that differs. */
export function serverTools(tools: readonly AdminServerTool[]): string {
  if (tools.length === 0) return 'No tool server has listed tools.';
  const overview = table(
    ['SERVER', 'TOOL', 'STATE'],
    tools.map(({ server, name, state }) => [server, plain(name), state]),
  );
  const changes = tools.flatMap(({ server, name, accepted, changed }) => {
    if (changed === null) return [];
    const [before, after] = [definition(accepted), definition(changed)];
    const lines = before.flatMap((line, index) =>
      line === after[index] ? [] : [`  - ${line}`, `  + ${after[index] ?? ''}`],
    );
    return [
      `${server} ${plain(name)} has changed:`,
      ...lines,
      `  accept: uswarmctl tools accept ${server} ${plain(name)}`,
    ];
  });
  return [overview, ...changes].join('\n');
}

export function plan(name: string, { plan: code, expires_at }: AdminAnswer<'user.plan'>): string {
  return `${name}: plan set to ${code} (${expires_at === null ? 'no expiry' : `expires at ${expires_at}`}).`;
}

export function workspace(shown: AdminWorkspace): string {
  const { runtime, turns: counts } = shown;
  const reason = runtime.reason === '' ? '' : ` (${plain(runtime.reason)})`;
  return block(shown.id, [
    ['name', plain(shown.name)],
    ['owner', shown.owner_id],
    ['since', shown.created_at],
    ['runtime', `${runtime.phase}${reason}, desired: ${runtime.desired}, verified: ${runtime.verified ? 'yes' : 'no'}`],
    ['last seen', `${orNone(runtime.identified_at)}, ${number(runtime.failures)} failures since`],
    ['agents', number(shown.agents)],
    ['messages', `${number(shown.messages)} in ${number(shown.conversations)} conversations`],
    ['turns', `${number(counts.queued)} queued, ${number(counts.running)} running, ${number(counts.failed)} failed`],
    ['usage', usageOf(shown.usage)],
  ]);
}

export function legalVersions(versions: AdminAnswer<'legal.list'>['versions']): string {
  const seen = new Set<string>();
  const rows = versions.map(({ document, version, published_at }) => {
    const current = !seen.has(document);
    seen.add(document);
    return [document, version, published_at, current ? 'current' : ''];
  });
  return table(['DOCUMENT', 'VERSION', 'PUBLISHED', 'STATUS'], rows);
}

export function turns(list: readonly AdminTurn[]): string {
  if (list.length === 0) return 'No results.';
  const rows = list.map((turn) => [
    turn.id,
    age(turn.age_s),
    turn.status,
    turn.leased ? 'yes' : 'no',
    String(turn.generation),
    String(turn.failures),
    orNone(turn.error_code),
    turn.workspace_id,
    orNone(turn.trace_id),
  ]);
  return table(['TURN', 'AGE', 'STATUS', 'LEASED', 'GENERATION', 'FAILURES', 'ERROR', 'WORKSPACE', 'TRACE'], rows);
}

export function requeued({ requeued: done, refused }: AdminAnswer<'turns.requeue'>): string {
  return [...done.map((id) => `${id}: requeued`), ...refused.map(({ id, why }) => `${id}: not requeued: ${why}`)].join(
    '\n',
  );
}

export function audit(entries: readonly AuditEntry[]): string {
  if (entries.length === 0) return 'No results.';
  const rows = entries.map((entry) => [
    entry.at,
    plain(entry.actor),
    entry.action,
    orNone(entry.user_id),
    orNone(entry.subject_id),
    Object.keys(entry.details).length === 0 ? '' : plain(JSON.stringify(entry.details)),
  ]);
  return table(['TIME', 'ACTOR', 'ACTION', 'USER', 'SUBJECT', 'DETAILS'], rows);
}
