"""The scenario language: a YAML file, validated as a whole before anything runs."""

from orchestrator.scenario.loader import LoadedScenario, LoadedVariant, load
from orchestrator.scenario.model import Flow, Scenario

__all__ = ["Flow", "LoadedScenario", "LoadedVariant", "Scenario", "load"]
