import { Link } from 'wouter';
import { MeterBar, PanelFrame } from '../screen/screen.js';
import { panel } from '../session/pages.js';
import { Button } from '../ui/button.js';
import { Icon } from '../ui/icon.js';
import { Facts } from '../ui/item.js';
import { Badge, EmptyState, Problem, RelativeTime } from '../ui/parts.js';
import { ui } from '../ui/ui.js';
import { costOf, tokens, tokensOf } from '../usage/amounts.js';
import { LABELS, summaryOf } from './activity.js';
import styles from './swarm.module.css';
import type { Task } from './tree.js';
import { isOpen, type TasksProps, useSwarm } from './use-swarm.js';

/** Shows who works on the newest question, and the cost. */
export function SwarmPanel({ workspaceId, conversationId }: { workspaceId: string; conversationId: string }) {
  const { question, tree, running, isActive, runtime, usage, activities, meters, stop } = useSwarm(
    workspaceId,
    conversationId,
  );
  return (
    <PanelFrame title="Swarm">
      <div className={ui('row between')}>
        <p>{summaryOf(running, isActive, runtime)}</p>
        {isActive && question?.id && (
          <Button size="small" look="danger" onClick={() => stop(question.id ?? '')}>
            <Icon name="stop" /> Stop all
          </Button>
        )}
      </div>
      {tree.length === 0 ? (
        <EmptyState icon="swarm" title="No agent works right now">
          <p>Ask something, for example “delegate to three agents”. You then see here who works on which part.</p>
        </EmptyState>
      ) : (
        <Tasks tasks={tree} activities={activities} currency={usage?.currency ?? 'USD'} onStop={stop} />
      )}
      {meters.length > 0 && (
        <section aria-label="Budget" className={ui('stack')}>
          {meters.map((meter) => (
            <MeterBar key={meter.label} meter={meter} />
          ))}
        </section>
      )}
    </PanelFrame>
  );
}

/** Nested lists instead of a `tree`, whose items cannot contain links and buttons. */
function Tasks({ tasks, ...rest }: TasksProps) {
  return (
    <ul className={ui('stack', styles['tasks'])}>
      {tasks.map((task) => (
        <li key={task.key}>
          <TaskRow task={task} {...rest} />
          {task.children.length > 0 && <Tasks tasks={task.children} {...rest} />}
        </li>
      ))}
    </ul>
  );
}

function TaskRow({ task, activities, currency, onStop }: { task: Task } & Omit<TasksProps, 'tasks'>) {
  const [label, tone] = LABELS[task.state];
  const activity = activities.get(task.agentId ?? '');
  const name = task.title === '' ? task.agent : `${task.agent}: ${task.title}`;
  const at = task.at ?? activity?.at;
  return (
    <article className={ui('card')} data-tone={tone === 'accent' ? tone : undefined} aria-label={name}>
      <div className={ui('row')}>
        <strong className={ui('grow')}>{task.agent}</strong>
        {task.turnId !== null && (
          <Link href={panel.timeline(task.turnId)} aria-label={`Steps of ${name}`}>
            Steps
          </Link>
        )}
        <Badge tone={tone}>{label}</Badge>
        {isOpen(task) && task.messageId !== null && (
          <Button size="small" look="quiet" aria-label={`Stop ${name}`} onClick={() => onStop(task.messageId ?? '')}>
            <Icon name="stop" />
          </Button>
        )}
      </div>
      {task.title !== '' && <p className={ui('lead')}>{task.title}</p>}
      {task.problem !== '' && <Problem>{task.problem}</Problem>}
      {task.state === 'running' && task.agentId !== null && (
        <p className={ui('lead')}>{activity?.text ?? 'No news from this agent'}</p>
      )}
      <Facts>
        {task.own !== null && <Figures task={task} currency={currency} />}
        {at !== undefined && at !== null && <RelativeTime at={at} />}
      </Facts>
    </article>
  );
}

function Figures({ task: { own, total, children }, currency }: { task: Task; currency: string }) {
  if (own === null) return null;
  const show = (amount: typeof own): string =>
    [`${tokens(tokensOf(amount))} tokens`, costOf(amount, currency)?.text].filter(Boolean).join(', ');
  return (
    <>
      <span>{show(own)}</span>
      {children.length > 0 && total !== null && <span>with tasks {show(total)}</span>}
    </>
  );
}
