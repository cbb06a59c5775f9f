-- Up Migration

-- The cost of a model call in micro US dollars, rounded up; null without prices. Prices are micro US dollars per million tokens.
CREATE FUNCTION model_call_cost(prompt bigint, cached bigint, completion bigint, prices jsonb) RETURNS bigint
LANGUAGE sql IMMUTABLE RETURNS NULL ON NULL INPUT AS $$
  SELECT ceil((
    (prompt - least(cached, prompt)) * (prices ->> 'input')::numeric
    + least(cached, prompt) * (prices ->> 'cached_input')::numeric
    + completion * (prices ->> 'output')::numeric
  ) / 1000000)::bigint
$$;

ALTER TABLE usage_entries
  -- Who and what the call was made for, also after the turn was deleted. Null in rows of the previous release.
  ADD COLUMN agent_id uuid,
  ADD COLUMN conversation_id uuid,
  -- The id of the model in the catalogue; null for a model that the catalogue does not contain.
  ADD COLUMN model_id text,
  -- The prices when the call was made, so that later prices do not change its cost. Null: the model has no price.
  ADD COLUMN prices jsonb,
  ADD COLUMN cost_micros bigint;

ALTER TABLE usage_periods ADD COLUMN cost_micros bigint NOT NULL DEFAULT 0;

CREATE OR REPLACE FUNCTION add_usage_to_period() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO usage_periods AS p (user_id, period, workspace_id, prompt_tokens, completion_tokens, requests, cost_micros)
  VALUES (
    NEW.user_id, to_char(NEW.created_at AT TIME ZONE 'UTC', 'YYYY-MM'), NEW.workspace_id,
    NEW.prompt_tokens, NEW.completion_tokens, 1, coalesce(NEW.cost_micros, 0)
  )
  ON CONFLICT (user_id, period, workspace_id) DO UPDATE SET
    prompt_tokens = p.prompt_tokens + excluded.prompt_tokens,
    completion_tokens = p.completion_tokens + excluded.completion_tokens,
    requests = p.requests + 1,
    cost_micros = p.cost_micros + excluded.cost_micros;
  RETURN NULL;
END $$;

-- The budget of a workspace per month in UTC. Null: no limit.
ALTER TABLE workspaces
  ADD COLUMN monthly_cost_micros bigint CHECK (monthly_cost_micros > 0),
  ADD COLUMN monthly_tokens bigint CHECK (monthly_tokens > 0),
  -- The last month in which the user was warned that the budget is almost used.
  ADD COLUMN budget_warned_period text;

-- Down Migration

ALTER TABLE workspaces
  DROP COLUMN monthly_cost_micros, DROP COLUMN monthly_tokens, DROP COLUMN budget_warned_period;
CREATE OR REPLACE FUNCTION add_usage_to_period() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO usage_periods AS p (user_id, period, workspace_id, prompt_tokens, completion_tokens, requests)
  VALUES (
    NEW.user_id, to_char(NEW.created_at AT TIME ZONE 'UTC', 'YYYY-MM'), NEW.workspace_id,
    NEW.prompt_tokens, NEW.completion_tokens, 1
  )
  ON CONFLICT (user_id, period, workspace_id) DO UPDATE SET
    prompt_tokens = p.prompt_tokens + excluded.prompt_tokens,
    completion_tokens = p.completion_tokens + excluded.completion_tokens,
    requests = p.requests + 1;
  RETURN NULL;
END $$;
ALTER TABLE usage_periods DROP COLUMN cost_micros;
ALTER TABLE usage_entries
  DROP COLUMN agent_id, DROP COLUMN conversation_id, DROP COLUMN model_id, DROP COLUMN prices, DROP COLUMN cost_micros;
DROP FUNCTION model_call_cost;
