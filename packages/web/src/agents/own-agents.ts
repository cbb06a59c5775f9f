import { useSearchParams } from 'wouter';
import { useClient } from '../session/use-client.js';
import { notify } from '../ui/notify.js';

const textOf = (form: FormData, field: string): string => String(form.get(field) ?? '').trim();

/** Adds and removes agents of a workspace. The list follows by itself. */
export function useOwnAgents(workspaceId: string) {
  const { api } = useClient();
  const [, setQuery] = useSearchParams();
  return {
    /** Adds an agent and shows it. */
    async add(form: FormData): Promise<void> {
      const content = textOf(form, 'instructions');
      const prompts = content === '' ? [] : [{ id: crypto.randomUUID(), name: '', description: '', content }];
      const { data } = await api.post('/v1/workspaces/{workspaceId}/agents', {
        path: { workspaceId },
        body: {
          name: textOf(form, 'name'),
          role: textOf(form, 'role'),
          description: textOf(form, 'description'),
          prompts,
        },
        idempotencyKey: crypto.randomUUID(),
      });
      notify({ title: `${data.name} was added. Mention it as @${data.slug}` });
      setQuery({ agent: data.id, tab: 'settings' });
    },
    /** Deletes an agent, and shows the manager instead. */
    async remove(id: string): Promise<void> {
      await api.delete('/v1/agents/{id}', { path: { id } });
      setQuery({}, { replace: true });
      // The button that had the focus no longer exists.
      requestAnimationFrame(() => document.querySelector<HTMLElement>('nav[aria-label="Agents"] a')?.focus());
    },
  };
}
