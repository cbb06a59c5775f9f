"""Asks through OpenAI's package, unmodified: ask.py <folder> <base URL> <key> <model>

The output is a JSON object with what each of the package's calls returned.
"""

import json
import sys

folder, base_url, api_key, model = sys.argv[1:]
sys.path.insert(0, folder)

from openai import OpenAI, OpenAIError  # noqa: E402

client = OpenAI(base_url=base_url, api_key=api_key)
messages = [{"role": "user", "content": "Count"}]

try:
    completion = client.chat.completions.create(model=model, messages=messages)
    chunks = list(
        client.chat.completions.create(
            model=model, messages=messages, stream=True, stream_options={"include_usage": True}
        )
    )
    response = client.responses.create(model=model, input="Count")
    with client.responses.stream(model=model, input="Count", previous_response_id=response.id) as stream:
        deltas = [event.delta for event in stream if event.type == "response.output_text.delta"]
        streamed = stream.get_final_response()
    result = {
        "completion": completion.choices[0].message.content,
        "tokens": completion.usage.total_tokens,
        "chunks": "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices),
        "chunk_tokens": chunks[-1].usage.total_tokens,
        "response": response.output_text,
        "deltas": "".join(deltas),
        "streamed": streamed.output_text,
    }
except OpenAIError as error:
    result = {"error": type(error).__name__, "code": getattr(error, "code", None)}

print(json.dumps(result))
