import { useState } from 'react';
import type { components } from '@uswarm/client';
import { useClient } from '../session/use-client.js';
import { notify, notifyError } from '../ui/notify.js';

export type Settings = components['schemas']['AgentSettings'];
type Prompt = Settings['prompts'][number];
type Model = components['schemas']['ModelCatalogItem'];

export const LENGTHS = [
  { value: 'auto', label: 'As needed' },
  { value: 'short', label: 'Short' },
  { value: 'medium', label: 'Medium' },
  { value: 'long', label: 'Long' },
] as const;
export interface FormProps {
  agentId: string;
  name: string;
  models: Model[];
  given: Settings;
}

export function useSettings(props: FormProps) {
  const { api } = useClient();
  const [settings, setSettings] = useState(props.given);
  const [prompts, setPrompts] = useState<Prompt[]>(props.given.prompts);
  async function save(change: Partial<Settings>): Promise<void> {
    const before = settings;
    setSettings({ ...settings, ...change });
    try {
      const { data } = await api.patch('/v1/agents/{id}/settings', { path: { id: props.agentId }, body: change });
      setSettings(data);
      if (change.prompts) setPrompts(data.prompts);
      notify({ title: `${props.name} works with the new settings from its next answer on` });
    } catch (error) {
      setSettings(before);
      notifyError('The settings were not saved')(error);
    }
  }
  const edit = (id: string, content: string): void =>
    setPrompts(prompts.map((prompt) => (prompt.id === id ? { ...prompt, content } : prompt)));
  const isChanged = JSON.stringify(prompts) !== JSON.stringify(settings.prompts);
  return { settings, prompts, setPrompts, save, edit, isChanged };
}
