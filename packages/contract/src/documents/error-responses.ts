import type { oas31, ZodOpenApiResponseObject } from 'zod-openapi';
import { ERRORS, type ErrorCode } from '../errors.js';
import { commonErrors, ROUTES, type RouteDefinition } from '../routes/index.js';
import { groupedBy } from './stable.js';

/** Error codes with one HTTP status. */
export interface ErrorGroup {
  status: number;
  /** Sorted and unique. */
  codes: ErrorCode[];
}

/** A route's error codes, by HTTP status. */
export function errorGroups(route: RouteDefinition): ErrorGroup[] {
  const codes = [...new Set([...commonErrors(route), ...(route.errors ?? [])])].toSorted();
  return [...groupedBy(codes, (code) => ERRORS[code].status)].map(([status, group]) => ({ status, codes: group }));
}

export function errorResponse({ status, codes }: ErrorGroup): ZodOpenApiResponseObject {
  const headers = HEADERS[status];
  return {
    description: codes.map((code) => `- \`${code}\`: ${ERRORS[code].message}`).join('\n'),
    ...(headers === undefined ? {} : { headers }),
    // Not an `enum` in the schema, because client generators would create an error class per response.
    'x-error-codes': codes,
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Error' },
        examples: Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }])),
      },
    },
  };
}

const retryAfter = { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } };

/** Response headers for errors with this status. */
const HEADERS: Record<number, Record<string, oas31.ReferenceObject>> = {
  429: {
    RateLimit: { $ref: '#/components/headers/RateLimit' },
    'RateLimit-Policy': { $ref: '#/components/headers/RateLimitPolicy' },
    ...retryAfter,
  },
  503: retryAfter,
};

const keyOf = ({ status, codes }: ErrorGroup): string => [status, ...codes].join(' ');

/** Groups that several routes share, by component name: `Error401`, `Error401B`, … */
const SHARED = nameSharedGroups(ROUTES);

function nameSharedGroups(routes: readonly RouteDefinition[]): Map<string, { name: string; group: ErrorGroup }> {
  const uses = groupedBy(routes.flatMap(errorGroups), keyOf);
  const shared = [...uses.values()].flatMap(([group, ...others]) =>
    group === undefined || others.length === 0 ? [] : [group],
  );
  const names = new Map<string, { name: string; group: ErrorGroup }>();
  for (const [status, groups] of groupedBy(shared, (group) => group.status)) {
    groups.forEach((group, index) => {
      const letter = index === 0 ? '' : String.fromCharCode('A'.charCodeAt(0) + index);
      names.set(keyOf(group), { name: `Error${status}${letter}`, group });
    });
  }
  return names;
}

/** The shared component for the group's response, if several routes need it. */
export function sharedName(group: ErrorGroup): string | undefined {
  return SHARED.get(keyOf(group))?.name;
}

export function sharedErrorResponses(): Record<string, ZodOpenApiResponseObject> {
  return Object.fromEntries([...SHARED.values()].map(({ name, group }) => [name, errorResponse(group)]));
}
