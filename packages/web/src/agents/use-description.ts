import type { components } from '@uswarm/client';
import { useEffect, useState } from 'react';
import { useClient, useLoaded } from '../session/use-client.js';
import { notify, notifyError } from '../ui/notify.js';
import type { AgentProps } from './agent-props.js';

const FIELDS = ['name', 'role', 'description'] as const;
export type Description = Pick<components['schemas']['AgentDetails'], (typeof FIELDS)[number]>;

/** @param props.name differs from the loaded one after another device has changed it */
export function useDescription({ agentId: id, name }: Pick<AgentProps, 'agentId' | 'name'>) {
  const { api } = useClient();
  const loaded = useLoaded(`description ${id}`, (client, signal) =>
    client.api.get('/v1/agents/{id}/details', { path: { id }, signal }).then(({ data }) => data),
  );
  const { data: given, reload } = loaded;
  /** Fields with unsaved text. The others follow other devices. */
  const [edited, setEdited] = useState<Partial<Description>>({});
  const isOutdated = given !== undefined && given.name !== name;
  useEffect(() => {
    if (isOutdated) reload();
  }, [isOutdated, name, reload]);
  useEffect(() => {
    if (given !== undefined) setEdited((known) => unsaved(known, given));
  }, [given]);

  async function save(): Promise<void> {
    try {
      await api.patch('/v1/agents/{id}', { path: { id }, body: edited });
      notify({ title: 'Saved, and known to the other agents from their next answer on' });
      reload();
    } catch (error) {
      notifyError('The description was not saved')(error);
    }
  }
  const edit = (change: Partial<Description>): void => setEdited({ ...edited, ...change });
  return { loaded, edited, edit, save };
}

/** An agent without a role has its name there. */
const savedAs = (field: keyof Description, text: string, { name }: Description): string =>
  field === 'role' ? text.trim() || name : text.trim();

function unsaved(edited: Partial<Description>, given: Description): Partial<Description> {
  const entries = FIELDS.map((field) => [field, edited[field]] as const);
  return Object.fromEntries(
    entries.filter(([field, text]) => text !== undefined && savedAs(field, text, given) !== given[field]),
  );
}
