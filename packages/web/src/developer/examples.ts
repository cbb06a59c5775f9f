import type { Recorded, RecordedCall } from '../session/recorder.js';

/** The routes in `openapi.json`. */
export interface Document {
  paths: Record<string, Record<string, { operationId?: string; summary?: string }>>;
}
interface Route {
  path: string;
  params: Record<string, string>;
  operationId: string | undefined;
  summary: string | undefined;
}

/** @returns the route of a call: `/v1/workspaces/{id}` for `/v1/workspaces/0193…`. Names win over parameters. */
export function routeOf({ method, url }: Pick<RecordedCall, 'method' | 'url'>, { paths }: Document): Route | undefined {
  const parts = new URL(url).pathname.split('/');
  const nameOf = (part: string): string | undefined => /^\{(\w+)\}$/.exec(part)?.[1];
  const fits = (path: string): boolean => {
    const own = path.split('/');
    return own.length === parts.length && own.every((part, at) => part === parts[at] || nameOf(part) !== undefined);
  };
  const verb = method.toLowerCase();
  const [path] = Object.keys(paths)
    .filter((each) => fits(each) && paths[each]?.[verb] !== undefined)
    .toSorted((a, b) => a.split('{').length - b.split('{').length);
  if (path === undefined) return undefined;
  const named = path.split('/').flatMap((part, at) => {
    const name = nameOf(part);
    return name === undefined ? [] : [[name, decodeURIComponent(parts[at] ?? '')]];
  });
  const { operationId, summary } = paths[path]?.[verb] ?? {};
  return { path, params: Object.fromEntries(named) as Record<string, string>, operationId, summary };
}

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** For a shell with the ID token in `TOKEN`. */
export function asCurl({ method, url, body }: Pick<RecordedCall, 'method' | 'url' | 'body'>): string {
  const verb = method === 'GET' ? '' : ` -X ${method}`;
  const data = body === null ? [] : [`-H 'content-type: application/json'`, `-d ${quoted(JSON.stringify(body))}`];
  return [`curl${verb} ${quoted(url)}`, '-H "X-Token: $TOKEN"', ...data].join(' \\\n  ');
}

const literal = (value: unknown): string =>
  JSON.stringify(value, null, 2)
    .replace(/^(\s*)"([A-Za-z_]\w*)":/gm, '$1$2:')
    .replaceAll(/\n\s*/g, ' ');

/** With `@uswarm/client`. */
export function asClientCall(call: Pick<RecordedCall, 'method' | 'url' | 'body'>, { path, params }: Route): string {
  const query = Object.fromEntries(new URL(call.url).searchParams);
  const input = {
    ...(Object.keys(params).length > 0 && { path: params }),
    ...(Object.keys(query).length > 0 && { query }),
    ...(call.body !== null && { body: call.body }),
  };
  const lines = Object.entries(input).map(([name, value]) => `  ${name}: ${literal(value)},\n`);
  const given = lines.length === 0 ? '' : `, {\n${lines.join('')}}`;
  return `await client.api.${call.method.toLowerCase()}('${path}'${given});`;
}

const asListener = (name: string): string => `client.on('${name}', (payload) => console.log(payload));`;

export function examplesOf(one: Recorded, route: Route | undefined): [name: string, text: string][] {
  if (one.kind === 'event')
    return [
      ['Client', asListener(one.name)],
      ['Payload', JSON.stringify(one.payload, null, 2)],
    ];
  return [
    ['curl', asCurl(one)],
    ...(route === undefined ? [] : [['Client', asClientCall(one, route)] as [string, string]]),
    ['Answer', JSON.stringify(one.answer, null, 2)],
  ];
}

export const KINDS = [
  { value: 'all', label: 'All' },
  { value: 'call', label: 'Calls' },
  { value: 'event', label: 'Events' },
] as const;
export const PLACES = [
  { value: 'screen', label: 'This screen' },
  { value: 'page', label: 'All screens' },
] as const;
export type Kind = (typeof KINDS)[number]['value'];
export type Place = (typeof PLACES)[number]['value'];
