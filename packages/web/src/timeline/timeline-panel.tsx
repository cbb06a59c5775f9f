import { useSearchParams } from 'wouter';
import { durationText } from '../screen/duration-text.js';
import { PanelFrame } from '../screen/screen.js';
import { Badge, EmptyState, Problem, Spinner } from '../ui/parts.js';
import { ui } from '../ui/ui.js';
import { costText, tokensText, turnState } from './labels.js';
import type { TurnSteps } from './rows.js';
import { Row } from './timeline-row.js';
import styles from './timeline.module.css';
import { useTimeline } from './use-timeline.js';

/** An agent's steps in a turn. An opened task shows the other agent's steps. */
export function TimelinePanel({ conversationId }: { conversationId: string }) {
  const [query] = useSearchParams();
  const turnId = query.get('turn') ?? '';
  return (
    <PanelFrame title="What happened">
      <Steps key={turnId} conversationId={conversationId} turnId={turnId} />
    </PanelFrame>
  );
}

function Steps({ conversationId, turnId }: { conversationId: string; turnId: string }) {
  const { turn, tasks, timeline, error, toggle } = useTimeline(conversationId, turnId);
  if (turn === undefined || timeline === undefined) {
    if (error === undefined && turnId !== '') return <Spinner label="Loading what happened" />;
    return (
      <EmptyState icon="clock" title="Nothing to show">
        <p>{error === undefined ? 'The link names no answer.' : error.message}</p>
      </EmptyState>
    );
  }
  const usage = [durationText(timeline.durationMs), tokensText(timeline.tokens)];
  if (timeline.costMicros !== null) usage.push(costText(timeline.costMicros));
  return (
    <>
      <Summary turn={turn} usage={usage.join(' · ')} />
      {timeline.rows.length === 0 ? (
        <EmptyState icon="clock" title="No steps yet">
          <p>They appear while {turn.agent.name} works.</p>
        </EmptyState>
      ) : (
        <ol className={styles['rows']}>
          {timeline.rows.map((row) => (
            <Row key={row.key} row={row} isExpanded={tasks.has(row.step.delegation?.turn_id ?? '')} onToggle={toggle} />
          ))}
        </ol>
      )}
    </>
  );
}

function Summary({ turn, usage }: { turn: TurnSteps; usage: string }) {
  const state = turnState(turn);
  return (
    <div className={ui('stack tight')}>
      <p className={ui('row')}>
        <strong>{turn.agent.name}</strong> <Badge tone={state.tone}>{state.text}</Badge>
      </p>
      {turn.task !== null && <p>{turn.task}</p>}
      {turn.error !== null && <Problem>{turn.error.message}</Problem>}
      <small>{usage}</small>
    </div>
  );
}
