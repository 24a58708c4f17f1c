// What a pasted curl command, .env file or snippet fills into the endpoint's fields.

import assert from "node:assert/strict";
import test from "node:test";

const { parsePastedEndpoint } = await import("../../../static/settings/pasted_endpoint.js");

const CASES = {
  "a curl command over several lines": [
    `curl https://api.example.com/v1/chat/completions \\
  -H "Content-Type: application/json" \\
  -H "Authorization: Bearer sk-abc123" \\
  -d '{"model": "qwen3", "messages": [{"role": "user", "content": "It'"'"'s me"}]}'`,
    { baseUrl: "https://api.example.com/v1", apiKey: "sk-abc123", model: "qwen3" },
  ],
  "a curl command whose key is a variable": [
    'curl -s https://openrouter.ai/api/v1/responses --header="Authorization: Bearer $OPENROUTER_API_KEY" --json \'{"model":"x-ai/grok"}\'',
    { baseUrl: "https://openrouter.ai/api/v1", apiKey: "", model: "x-ai/grok" },
  ],
  "a curl command of the Messages API": [
    'curl https://api.anthropic.com/v1/messages --header "x-api-key: sk-ant-1" --header "anthropic-version: 2023-06-01" --data "{\\"model\\": \\"claude-x\\"}"',
    { baseUrl: "https://api.anthropic.com/v1", apiKey: "sk-ant-1", model: "claude-x" },
  ],
  "a curl command whose body is no JSON": [
    `curl http://localhost:8000/v1/chat/completions -d '{"model": "m1", "n": $N}'`,
    { baseUrl: "http://localhost:8000/v1", apiKey: "", model: "m1" },
  ],
  "lines of an .env file": [
    '# mine\nexport OPENAI_BASE_URL="http://localhost:8000/v1"\nOPENAI_API_KEY=sk-1\n\nOPENAI_MODEL=qwen\n',
    { baseUrl: "http://localhost:8000/v1", apiKey: "sk-1", model: "qwen" },
  ],
  "an .env file with other services' keys and addresses": [
    "SECRET_KEY=s-1\nSTRIPE_API_KEY=s-2\nGITHUB_TOKEN=s-3\nREDIS_HOST=localhost\nSENTRY_URL=https://sentry.example\nOPENAI_BASE_URL=https://x.example/v1\nOPENAI_API_KEY=sk-1",
    { baseUrl: "https://x.example/v1", apiKey: "sk-1", model: "" },
  ],
  "a key beside another service's address": [
    "SENTRY_URL=https://sentry.example\nOPENAI_API_KEY=sk-1\nMODEL_NAME=qwen",
    { baseUrl: "", apiKey: "sk-1", model: "qwen" },
  ],
  "an endpoint beside another service's key": [
    "GITHUB_TOKEN=s-1\nOLLAMA_HOST=http://localhost:11434",
    { baseUrl: "http://localhost:11434", apiKey: "", model: "" },
  ],
  "a curl command through a proxy": [
    'curl -x http://proxy.example:3128 --referer https://y.example https://x.example/v1/models -H "Authorization: Bearer sk-1"',
    { baseUrl: "https://x.example/v1", apiKey: "sk-1", model: "" },
  ],
  "an address without a scheme": [
    'curl localhost:8000/v1/chat/completions -d \'{"model": "m1"}\'',
    { baseUrl: "http://localhost:8000/v1", apiKey: "", model: "m1" },
  ],
  "an address of a container without a scheme": [
    "OPENAI_BASE_URL=vllm:8000/v1\nOPENAI_MODEL=qwen",
    { baseUrl: "http://vllm:8000/v1", apiKey: "", model: "qwen" },
  ],
  "a host of the web without a scheme": [
    "OPENAI_API_BASE=api.example.com/v1 # ours\nOPENAI_API_KEY='sk-#1' # mine",
    { baseUrl: "https://api.example.com/v1", apiKey: "sk-#1", model: "" },
  ],
  "an address of Azure": [
    'curl "https://x.openai.azure.com/openai/deployments/gpt/chat/completions?api-version=2024-10-21&sig=1" -H "api-key: k-1"',
    { baseUrl: "https://x.openai.azure.com/openai/deployments/gpt?api-version=2024-10-21", apiKey: "k-1", model: "" },
  ],
  "a snippet with lines that are commented out": [
    'client = OpenAI(\n    # base_url="https://old.example/v1",\n    base_url="https://x.example/v1",\n)',
    { baseUrl: "https://x.example/v1", apiKey: "", model: "" },
  ],
  "two keys, one with a model": ["ANTHROPIC_API_KEY=sk-2\nOPENAI_API_KEY=sk-1\nOPENAI_MODEL=gpt", { baseUrl: "", apiKey: "sk-1", model: "gpt" }],
  "one variable": ["OPENAI_API_KEY=sk-1", { baseUrl: "", apiKey: "sk-1", model: "" }],
  "a Python snippet": [
    'from openai import OpenAI\nclient = OpenAI(base_url="https://api.deepseek.com", api_key=os.environ["KEY"])\nclient.chat.completions.create(model="deepseek-chat")',
    { baseUrl: "https://api.deepseek.com", apiKey: "", model: "deepseek-chat" },
  ],
  "a Python snippet of the SDK's own endpoint": [
    'client = OpenAI()\nresponse = client.responses.create(model="gpt-5.4", input="Hi")',
    { baseUrl: "https://api.openai.com/v1", apiKey: "", model: "gpt-5.4" },
  ],
  "a JavaScript snippet": [
    'const client = new OpenAI({ baseURL: "https://x.example/v1/", apiKey: "k-1" }); create({ model: "m" })',
    { baseUrl: "https://x.example/v1", apiKey: "k-1", model: "m" },
  ],
  "a placeholder instead of a key": [
    'OpenAI(base_url="https://x.example/v1", api_key="YOUR_API_KEY")',
    { baseUrl: "https://x.example/v1", apiKey: "", model: "" },
  ],
};

for (const [name, [text, expected]] of Object.entries(CASES)) {
  test(`${name} fills the fields`, () => assert.deepEqual(parsePastedEndpoint(text), expected));
}

test("other texts are pasted as they are", () => {
  for (const text of [
    "",
    "https://api.example.com/v1",
    "a sentence = not a file, is it\nmore",
    "OPENAI_API_KEY=sk-1\nANTHROPIC_API_KEY=sk-2",
    "x".repeat(100_000),
    "a=1",
  ])
    assert.equal(parsePastedEndpoint(text), null, text.slice(0, 40));
});

test("no password and no other scheme is taken from a URL", () => {
  assert.equal(parsePastedEndpoint("curl https://user:secret@x.example/v1"), null);
  assert.equal(parsePastedEndpoint('base_url="javascript:alert(1)"'), null);
});

test("hostile texts are read up to a length, in one pass", () => {
  const hostile = [
    `curl ${"'".repeat(200_000)}`,
    `curl ${'"\\'.repeat(100_000)}`,
    `curl ${"\\".repeat(200_000)}`,
    "A=".repeat(100_000),
    `OpenAI(${"model ".repeat(40_000)}`,
  ];
  hostile.push(`A${" ".repeat(200_000)}x`, `export ${"\t".repeat(100_000)}`, `A=${" ;".repeat(50_000)}x`);
  for (const text of hostile) assert.ok(["", "https://api.openai.com/v1"].includes(parsePastedEndpoint(text)?.baseUrl ?? ""));
  assert.equal(parsePastedEndpoint(`${"# \n".repeat(10_000)}OPENAI_API_KEY=sk-1`), null);
});
