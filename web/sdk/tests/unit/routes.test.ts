/** Every route of the server's document has a method, and every method has a route. */

import { readFileSync } from "node:fs";

import { expect, test } from "vitest";

import { Http, textMessage } from "../../src/index.js";
import { FakeHttp, json } from "../fake/http.js";
import { tokens } from "../fake/samples.js";

const METHODS = ["get", "put", "post", "patch", "delete"];

interface OpenApi {
  paths: Record<string, Record<string, unknown>>;
}

/** The documented routes, in the form `GET /v1/users/{}`. */
function documented(): string[] {
  const text = readFileSync(new URL("../../../../docs/openapi.json", import.meta.url), "utf8");
  const { paths } = JSON.parse(text) as OpenApi;
  return Object.entries(paths).flatMap(([path, routes]) =>
    Object.keys(routes)
      .filter((method) => METHODS.includes(method))
      .map((method) => `${method.toUpperCase()} ${path.replace(/\{\w+\}/g, "{}")}`),
  );
}

async function callAll(http: Http): Promise<void> {
  const { auth, accounts, people, conversations, groups, messages, personal, operation } = http;
  await auth.register({ handle: "ada", password: "correct horse" });
  await auth.signIn({ handle: "ada", password: "correct horse" });
  await auth.refresh();
  await accounts.me();
  await accounts.updateMe({});
  await accounts.changePassword({ current_password: "a", new_password: "b" });
  await accounts.devices();
  await accounts.revokeDevice("11");
  await people.search("ada");
  await people.user("11");
  await people.blocks();
  await people.block("11");
  await people.unblock("11");
  await conversations.open({ kind: "direct", user_id: "11" });
  await conversations.list();
  await conversations.get("11");
  await conversations.update("11", {});
  await conversations.deleteForMe("11", 7);
  await conversations.deleteForAll("11");
  await conversations.gone("2026-11-15T08:30:00.125Z");
  await conversations.orderPinned(["11"]);
  await conversations.updateMembership("11", {});
  await conversations.moveCursor("11", { read: 1 });
  await conversations.log("11", 0);
  await conversations.sync();
  await groups.members("11");
  await groups.addMembers("11", ["12"]);
  await groups.setRole("11", "12", "admin");
  await groups.removeMember("11", "12");
  await groups.bans("11");
  await groups.ban("11", "12");
  await groups.unban("11", "12");
  await groups.transferOwnership("11", "12");
  await groups.join("11");
  await groups.leave("11");
  await groups.leaveForGood("11");
  await groups.refusedGroups();
  await groups.allowGroup("11");
  await groups.invites("11");
  await groups.createInvite("11");
  await groups.revokeInvite("11", "12");
  await groups.previewInvite("11");
  await groups.joinByInvite("11");
  await messages.send("11", textMessage("hello"));
  await messages.history("11");
  await messages.get("11");
  await messages.edit("11", "hello");
  await messages.delete("11", "all");
  await messages.edits("11");
  await messages.receipts("11");
  await messages.react("11", "+1");
  await messages.unreact("11");
  await messages.reactions("11");
  await messages.thread("11");
  await messages.pin("11");
  await messages.unpin("11");
  await messages.pins("11");
  await personal.star("11");
  await personal.unstar("11");
  await personal.stars();
  await personal.schedule({
    conversation_id: "11",
    send_at: "2026-11-15T08:30:00.125Z",
    message: textMessage("x"),
  });
  await personal.scheduled();
  await personal.updateScheduled("11", {});
  await personal.sendScheduled("11");
  await personal.cancelScheduled("11");
  await operation.alive();
  await operation.ready();
  await auth.signOut();
}

test("every route has a method", async () => {
  const server = new FakeHttp(({ path }) =>
    json(
      path.endsWith("/refresh")
        ? tokens(2)
        : { tokens: tokens(1), user: { handle: "ada" }, device_proof: "p" },
    ),
  );
  await callAll(new Http({ baseUrl: "http://chat.test", fetch: server.fetch }));
  const called = server.requests.map(
    ({ method, path }) => `${method} ${path.replace(/\/1[12](?=\/|$)/g, "/{}")}`,
  );
  expect([...new Set(called)].sort()).toEqual(documented().sort());
});
