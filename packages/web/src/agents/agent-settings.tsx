import { useState } from 'react';
import type { components } from '@uswarm/client';
import { Choice, Section, Show } from '../screen/screen.js';
import styles from '../screen/screen.module.css';
import { useClient, useLoaded } from '../session/use-client.js';
import { Button } from '../ui/button.js';
import { Icon } from '../ui/icon.js';
import { notify, notifyError } from '../ui/notify.js';
import ui from '../ui/ui.module.css';
import type { AgentProps } from './agent-props.js';

type Settings = components['schemas']['AgentSettings'];
type Prompt = Settings['prompts'][number];
type Model = components['schemas']['ModelCatalogItem'];

const LENGTHS = [
  { value: 'auto', label: 'As needed' },
  { value: 'short', label: 'Short' },
  { value: 'medium', label: 'Medium' },
  { value: 'long', label: 'Long' },
] as const;

export function AgentSettings({ agentId, name }: AgentProps) {
  const loaded = useLoaded(`settings ${agentId}`, async ({ api }, signal) => {
    const [settings, models] = await Promise.all([
      api.get('/v1/agents/{id}/settings', { path: { id: agentId }, signal }),
      api.get('/v1/models', { signal }),
    ]);
    return { settings: settings.data, models: models.data };
  });
  return (
    <Show loaded={loaded} what="settings">
      {({ settings, models }) => <Form key={agentId} agentId={agentId} name={name} models={models} given={settings} />}
    </Show>
  );
}

/** Choices are saved at once, texts with a button. */
function Form(props: { agentId: string; name: string; models: Model[]; given: Settings }) {
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
  const model = props.models.find(({ id }) => id === settings.model);
  const edit = (id: string, content: string): void =>
    setPrompts(prompts.map((prompt) => (prompt.id === id ? { ...prompt, content } : prompt)));
  const isChanged = JSON.stringify(prompts) !== JSON.stringify(settings.prompts);
  return (
    <>
      <Section title="Model" lead={model?.description}>
        <Choice
          label="Model"
          value={settings.model}
          options={props.models.map(({ id, name }) => ({ value: id as Settings['model'], label: name }))}
          onChange={(value) => void save({ model: value })}
        />
      </Section>
      <Section title="Length of answers">
        <Choice
          label="Length of answers"
          value={settings.response_length}
          options={LENGTHS}
          onChange={(value) => void save({ response_length: value })}
        />
      </Section>
      <Section
        title="Instructions"
        lead={`${props.name} follows them in every answer, for example “Answer in Polish”.`}
      >
        {prompts.map(({ id, content }, at) => (
          <div key={id} className={styles['row']}>
            <textarea
              className={ui['input']}
              aria-label={`Instruction ${at + 1}`}
              rows={2}
              value={content}
              onChange={(event) => edit(id, event.target.value)}
            />
            <Button
              look="quiet"
              size="icon"
              aria-label={`Remove instruction ${at + 1}`}
              onClick={() => setPrompts(prompts.filter((prompt) => prompt.id !== id))}
            >
              <Icon name="close" />
            </Button>
          </div>
        ))}
        <div className={styles['row']}>
          <Button
            onClick={() =>
              setPrompts([...prompts, { id: crypto.randomUUID(), name: '', description: '', content: '' }])
            }
          >
            <Icon name="plus" /> Add an instruction
          </Button>
          {isChanged && (
            <Button
              look="primary"
              onClick={() => void save({ prompts: prompts.filter(({ content }) => content.trim() !== '') })}
            >
              Save instructions
            </Button>
          )}
        </div>
      </Section>
    </>
  );
}
