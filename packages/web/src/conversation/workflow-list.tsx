import type { components } from '@uswarm/client';
import { Badge } from '../ui/parts.js';
import { ui } from '../ui/ui.js';
import styles from './message.module.css';
import { State } from './tool-lines.js';
import { TONES } from './work-states.js';

type Content = components['schemas']['WorkflowContent'];
export function WorkflowList({ content }: { content: Content }) {
  const done = content.steps.filter(({ status }) => status === 'completed').length;
  return (
    <section className={ui('card', styles['narrow'])} aria-label={`Workflow ${content.workflow_name}`}>
      <header className={ui('row between')}>
        <h3>{content.workflow_name}</h3>
        <Badge tone={TONES[content.status] ?? 'plain'}>
          {content.status} · {done} of {content.steps.length}
        </Badge>
      </header>
      <ol className={ui('stack tight')}>
        {content.steps.map(({ step_id: id, name, status, agent_slug: agent }) => (
          <li key={id} className={ui('row lead')}>
            <State state={status} />
            <span className={ui('grow')}>{name}</span>
            <small>@{agent}</small>
          </li>
        ))}
      </ol>
    </section>
  );
}
