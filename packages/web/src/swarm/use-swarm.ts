import { useSignal } from '@uswarm/client/react';
import { useEffect } from 'react';
import { useInterval } from '../screen/use-interval.js';
import { useClient, useLoaded, useMessages } from '../session/use-client.js';
import { notifyError } from '../ui/notify.js';
import { metersOf } from '../usage/amounts.js';
import { type Activity, activityOf } from './activity.js';
import { loadSpending } from './spending.js';
import { flat, type Task, treeOf } from './tree.js';

export const isOpen = ({ state }: Task): boolean => state === 'running' || state === 'waiting';

/** Tasks for the newest question, with their cost, and functions to stop them. */
export function useSwarm(workspaceId: string, conversationId: string) {
  const client = useClient();
  const messages = useMessages(workspaceId, conversationId);
  const swarm = useSignal(client.workspace(workspaceId).swarm);
  const runtime = useSignal(client.workspaces).find(({ id }) => id === workspaceId)?.runtime.status;
  const question = messages.findLast(({ role, id }) => role === 'user' && id !== null);
  const names = new Map(swarm.agents.map(({ id, slug, name }) => [slug, { id, name }]));
  const spent = useLoaded(`swarm ${workspaceId}`, (one, signal) => loadSpending(one, workspaceId, signal));
  const { data: usage, reload } = spent;
  useEffect(reload, [messages.length, reload]);
  const tree = treeOf(question?.id ?? '', messages, usage?.groups ?? [], names);
  const running = flat(tree).filter(({ state }) => state === 'running').length;
  // Between a task's end and the next words from the agent that gave it, nothing else shows that more follows.
  const isOver = question === undefined || question.answered || question.status === 'failed';
  const isActive = tree.some(isOpen) || !(isOver || (question.status === 'read' && tree.length === 0));
  useInterval(isActive, reload, 5_000);

  const stop = (id: string): void =>
    void client.api
      .post('/v1/workspaces/{workspaceId}/messages/{id}/stop', { path: { workspaceId, id } })
      .catch(notifyError('It could not be stopped'));
  const activities = activityOf(swarm.agents, messages);
  const meters = metersOf(usage?.budget, usage?.plan);
  return { question, tree, running, isActive, runtime, usage, activities, meters, stop };
}

export interface TasksProps {
  tasks: readonly Task[];
  activities: ReadonlyMap<string, Activity>;
  currency: string;
  onStop: (messageId: string) => void;
}
