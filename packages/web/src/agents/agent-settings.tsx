import { Choice, Section, Show } from '../screen/screen.js';
import { useLoaded } from '../session/use-client.js';
import { Button } from '../ui/button.js';
import { Form } from '../ui/form.js';
import { Icon } from '../ui/icon.js';
import { ui } from '../ui/ui.js';
import { AgentFields } from './agent-fields.js';
import type { AgentProps } from './agent-props.js';
import { useDescription } from './use-description.js';
import { type FormProps, LENGTHS, type Settings, useSettings } from './use-settings.js';

export function AgentSettings({ agentId, name }: AgentProps) {
  const loaded = useLoaded(`settings ${agentId}`, async ({ api }, signal) => {
    const [settings, models] = await Promise.all([
      api.get('/v1/agents/{id}/settings', { path: { id: agentId }, signal }),
      api.get('/v1/models', { signal }),
    ]);
    return { given: settings.data, models: models.data };
  });
  return (
    <Show loaded={loaded} what="settings">
      {(data) => (
        <>
          <Choices key={agentId} agentId={agentId} name={name} {...data} />
          <Description agentId={agentId} name={name} />
        </>
      )}
    </Show>
  );
}

/** Saves choices immediately, and texts with a button. */
function Choices(props: FormProps) {
  const { settings, prompts, setPrompts, save, edit, isChanged } = useSettings(props);
  const model = props.models.find(({ id }) => id === settings.model);
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
          <div key={id} className={ui('row')}>
            <textarea
              className={ui('input grow')}
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
        <div className={ui('row')}>
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

function Description(props: Pick<AgentProps, 'agentId' | 'name'>) {
  const { loaded, edited, edit, save } = useDescription(props);
  return (
    <Section title="Name and description" lead="The other agents read them when they choose whom to give a task.">
      <Show loaded={loaded} what="description">
        {(given) => (
          <Form className={ui('stack')} onSubmit={() => void save()}>
            <AgentFields shown={{ ...given, ...edited }} onEdit={edit} />
            <div>
              <Button type="submit">Save the description</Button>
            </div>
          </Form>
        )}
      </Show>
    </Section>
  );
}
