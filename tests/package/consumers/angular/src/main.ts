import { Component, type OnInit } from "@angular/core";
import { bootstrapApplication } from "@angular/platform-browser";
import { createAttention } from "headwise";

import { report } from "../compute.js";

@Component({ selector: "app-root", template: "headwise in Angular" })
class App implements OnInit {
  ngOnInit() {
    report(createAttention({ threads: 2, backend: "wasm" }));
  }
}

bootstrapApplication(App);
