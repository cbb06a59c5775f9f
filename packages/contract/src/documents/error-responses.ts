import type { oas31, ZodOpenApiResponseObject } from 'zod-openapi';
import { ERRORS, type ErrorCode } from '../errors.js';
import { commonErrors, ROUTES, type RouteDefinition } from '../routes/index.js';

/** The codes that a route can answer with one HTTP status. */
export interface ErrorGroup {
  status: number;
  /** Sorted, each once. */
  codes: ErrorCode[];
}

/** What can go wrong with a route, by HTTP status. */
export function errorGroups(route: RouteDefinition): ErrorGroup[] {
  const codes = [...new Set([...commonErrors(route), ...(route.errors ?? [])])].toSorted();
  return [...Map.groupBy(codes, (code) => ERRORS[code].status)].map(([status, group]) => ({ status, codes: group }));
}

export function errorResponse({ status, codes }: ErrorGroup): ZodOpenApiResponseObject {
  const headers = HEADERS[status];
  return {
    description: codes.map((code) => `- \`${code}\`: ${ERRORS[code].message}`).join('\n'),
    ...(headers === undefined ? {} : { headers }),
    // Not as an `enum` in the schema: client generators would make one more class of errors per response.
    'x-error-codes': codes,
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
  };
}

const retryAfter = { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } };

/** What an error of this status carries besides its body. */
const HEADERS: Record<number, Record<string, oas31.ReferenceObject>> = {
  429: {
    RateLimit: { $ref: '#/components/headers/RateLimit' },
    'RateLimit-Policy': { $ref: '#/components/headers/RateLimitPolicy' },
    ...retryAfter,
  },
  503: retryAfter,
};

const keyOf = ({ status, codes }: ErrorGroup): string => [status, ...codes].join(' ');

/** Groups that several routes have word for word, by the name of their component: `Error401`, `Error401B`, … */
const SHARED = nameSharedGroups(ROUTES);

function nameSharedGroups(routes: readonly RouteDefinition[]): Map<string, { name: string; group: ErrorGroup }> {
  const uses = Map.groupBy(routes.flatMap(errorGroups), keyOf);
  const shared = [...uses.values()].flatMap(([group, ...others]) =>
    group === undefined || others.length === 0 ? [] : [group],
  );
  const names = new Map<string, { name: string; group: ErrorGroup }>();
  for (const [status, groups] of Map.groupBy(shared, (group) => group.status)) {
    groups.forEach((group, index) => {
      const letter = index === 0 ? '' : String.fromCharCode('A'.charCodeAt(0) + index);
      names.set(keyOf(group), { name: `Error${status}${letter}`, group });
    });
  }
  return names;
}

/** The component that holds the group's response, if several routes share it. */
export function sharedName(group: ErrorGroup): string | undefined {
  return SHARED.get(keyOf(group))?.name;
}

export function sharedErrorResponses(): Record<string, ZodOpenApiResponseObject> {
  return Object.fromEntries([...SHARED.values()].map(({ name, group }) => [name, errorResponse(group)]));
}
