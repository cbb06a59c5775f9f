import type { z } from 'zod';
import { accountRoutes } from './account.js';
import { agentRoutes } from './agents.js';
import { apiTokenRoutes } from './api-tokens.js';
import { artifactRoutes } from './artifacts.js';
import { cardRoutes } from './cards.js';
import { conversationRoutes } from './conversations.js';
import { coreRoutes } from './core.js';
import type { RouteDefinition } from './define.js';
import { deviceRoutes } from './devices.js';
import { eventRoutes } from './events.js';
import { exportRoutes } from './exports.js';
import { importRoutes } from './imports.js';
import { integrationRoutes } from './integrations.js';
import { legalRoutes } from './legal.js';
import { messageRoutes } from './messages.js';
import { receiptRoutes } from './receipts.js';
import { scheduleRoutes } from './schedules.js';
import { streamRoutes } from './stream.js';
import { turnRoutes } from './turns.js';
import { uploadRoutes } from './uploads.js';
import { usageRoutes } from './usage.js';
import { userRoutes } from './users.js';
import { triggerRoutes } from './triggers.js';
import { webhookRoutes } from './webhooks.js';
import { workflowRoutes } from './workflows.js';
import { workspaceRoutes } from './workspaces.js';

export {
  commonErrors,
  type PathParameter,
  POSITION_HEADER,
  type RouteAuth,
  type RouteDefinition,
  type RoutePosition,
  type RouteSubject,
  subjectOf,
} from './define.js';
export type { ReplayedEvent } from './events.js';
export { STREAM_PATH, StreamQuery } from './stream.js';
export { type MessageListQuery, pageQuery, type PageQuery } from './pages.js';

/** The orchestrator's routes, in document order. */
export const ROUTES = [
  ...coreRoutes,
  ...legalRoutes,
  ...deviceRoutes,
  ...uploadRoutes,
  ...accountRoutes,
  ...apiTokenRoutes,
  ...userRoutes,
  ...exportRoutes,
  ...importRoutes,
  ...usageRoutes,
  ...workspaceRoutes,
  ...eventRoutes,
  ...agentRoutes,
  ...conversationRoutes,
  ...messageRoutes,
  ...cardRoutes,
  ...turnRoutes,
  ...artifactRoutes,
  ...workflowRoutes,
  ...scheduleRoutes,
  ...triggerRoutes,
  ...receiptRoutes,
  ...integrationRoutes,
  ...webhookRoutes,
] as const;

/** The routes that the realtime gateway answers. */
export const GATEWAY_ROUTES = streamRoutes;

export type OperationId = (typeof ROUTES)[number]['operationId'];
export type RouteOf<Operation extends OperationId> = Extract<(typeof ROUTES)[number], { operationId: Operation }>;

type OutputOf<Route, Key extends string> =
  Route extends Record<Key, infer Schema extends z.ZodType> ? z.output<Schema> : undefined;

/** Parsed handler input. */
export interface RouteInput<Operation extends OperationId> {
  params: RouteOf<Operation> extends { params: infer Params }
    ? { [Name in keyof Params]: string }
    : Record<never, never>;
  query: OutputOf<RouteOf<Operation>, 'query'>;
  headers: OutputOf<RouteOf<Operation>, 'headers'>;
  body: OutputOf<RouteOf<Operation>, 'body'>;
}

type Answers<Responses> = {
  [Status in keyof Responses]: Responses[Status] extends { schema: infer Schema }
    ? Schema extends z.ZodType
      ? { status: Status; body: z.input<Schema> }
      : { status: Status }
    : never;
}[keyof Responses];

/** Handler output: a documented status with its body. */
export type RouteAnswer<Operation extends OperationId> = Answers<RouteOf<Operation>['responses']>;

/** Paths with fewer parameters come first: they match before `{id}` does. */
const PATTERNS: readonly { route: RouteDefinition; pattern: RegExp }[] = ROUTES.map((route) => ({
  route,
  pattern: pathPattern(route.path),
})).toSorted((a, b) => parameterCount(a.route) - parameterCount(b.route));

/** Finds a route by method and concrete path. */
export function findRoute(method: string, path: string): RouteDefinition | undefined {
  const wanted = method.toLowerCase();
  return PATTERNS.find(({ route, pattern }) => route.method === wanted && pattern.test(path))?.route;
}

/** The methods on a concrete path, for the `Allow` header; empty for an unknown path. */
export function allowedMethods(path: string): string[] {
  const methods = PATTERNS.filter(({ pattern }) => pattern.test(path)).map(({ route }) => route.method.toUpperCase());
  return [...new Set(methods.includes('GET') ? [...methods, 'HEAD'] : methods)].toSorted();
}

function parameterCount(route: RouteDefinition): number {
  return Object.keys(route.params ?? {}).length;
}

function pathPattern(path: string): RegExp {
  const escaped = path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+');
  return new RegExp(`^${escaped}$`);
}
